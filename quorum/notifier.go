package quorum

// majorityNotifier decides when a waiter has to try again, from the nodes' release messages and from their answers when
// the waiter asked whether the lock is free. It is plain arithmetic.
//
// A message says that the lock became free on its node. It counts until the node, asked after the message arrived,
// reports that the lock is not free, or fails to answer. The waiter is woken when the messages that count come from a
// majority. So a late message of an earlier release can wake the waiter
// too early, but cannot replace a message of the next release: the waiter asks the nodes before it waits again.
//
// A message does not identify its release. An identifier would not help: readers that leave at the same time may leave
// in a different order on each node, and then no release is the last one on a majority.
type majorityNotifier struct {
	need     int
	received []uint64 // by node: the number of its last message; 0: none
	refuted  []uint64 // by node: the number of the last message that no longer counts
	last     uint64   // the number of the last message of all nodes
	woken    uint64   // the number of the last message when the waiter was last woken
	armed    bool     // the waiter is waiting
}

func newMajorityNotifier(nodes, need int) majorityNotifier {
	return majorityNotifier{need: need, received: make([]uint64, nodes), refuted: make([]uint64, nodes)}
}

// message counts a message of a node. It reports whether to wake the waiter.
func (n *majorityNotifier) message(index int) bool {
	n.last++
	n.received[index] = n.last
	return n.wake()
}

// arm records that the waiter waits. It reports whether to wake the waiter at once.
func (n *majorityNotifier) arm() bool {
	n.armed = true
	return n.wake()
}

// wake reports whether a majority has sent messages that count, one of them since the waiter was last woken.
func (n *majorityNotifier) wake() bool {
	count, news := 0, false
	for i, received := range n.received {
		if received > n.refuted[i] {
			count++
			news = news || received > n.woken
		}
	}
	if !n.armed || !news || count < n.need {
		return false
	}
	n.armed, n.woken = false, n.last
	return true
}

// refute records that a node did not report the lock as free, to a question asked when the last message was asked.
func (n *majorityNotifier) refute(index int, asked uint64) {
	n.refuted[index] = max(n.refuted[index], asked)
}

// majorityFree records that a majority reported the lock as free, to a question asked when the last message was asked.
// The waiter then tries again by itself, and needs a majority of new messages to try earlier.
func (n *majorityNotifier) majorityFree(asked uint64) {
	for i := range n.refuted {
		n.refute(i, asked)
	}
}
