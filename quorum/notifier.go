package quorum

// majorityNotifier decides when to wake a waiter. Its input is the nodes' release messages, and the nodes' answers to
// the waiters' probes. It is plain arithmetic. It numbers the messages of all nodes from 1.
//
// A message says that the lock became free on its node. It counts until a probe that began after it finds the lock not
// free on that node, or gets no answer, or until a majority grants a probe. The waiter is woken when a majority of the
// nodes has sent messages that count. A late message of an earlier release can wake the waiter too early. It cannot
// replace a message of the next release, because the waiter probes before it waits again.
//
// A message does not identify its release. An identifier would not help: concurrent releases of readers may reach each
// node in another order, and then no release is the last one on a majority.
type majorityNotifier struct {
	need       int
	received   []uint64 // by node: its last message; 0: none
	discounted []uint64 // by node: the last message that no longer counts; 0: none
	last       uint64   // the last message of any node
	woken      uint64   // the last message when a waiter was last woken
}

func newMajorityNotifier(nodes, need int) majorityNotifier {
	return majorityNotifier{need: need, received: make([]uint64, nodes), discounted: make([]uint64, nodes)}
}

// message counts a message of a node.
func (n *majorityNotifier) message(index int) {
	n.last++
	n.received[index] = n.last
}

// due reports whether a majority has sent messages that count, one of them since the waiter was last woken.
func (n *majorityNotifier) due() bool {
	count, news := 0, false
	for i, received := range n.received {
		if received > n.discounted[i] {
			count++
			news = news || received > n.woken
		}
	}
	return news && count >= n.need
}

// take reports whether to wake the waiter, and records that it was woken.
func (n *majorityNotifier) take() bool {
	if !n.due() {
		return false
	}
	n.woken = n.last
	return true
}

// discount makes the messages of a node up to before, the last message before a probe, no longer count.
func (n *majorityNotifier) discount(index int, before uint64) {
	n.discounted[index] = max(n.discounted[index], before)
}

// majorityFree records that a majority reported the lock as free to a probe. before is the last message before the
// probe. The waiter then tries again after a short delay. Only a majority of newer messages wakes it earlier.
func (n *majorityNotifier) majorityFree(before uint64) {
	for i := range n.discounted {
		n.discount(i, before)
	}
}
