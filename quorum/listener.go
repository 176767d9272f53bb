package quorum

import "sync"

// A Listener listens to the releases of a lock, for the waiters of one queue.
type Listener struct {
	stops []func()
	news  func() // called when Take may return true

	mu       sync.Mutex
	notifier majorityNotifier
	text     string // of the last message that had one
}

// Listen listens on the channels of a lock's names on every node. It returns at once. It calls news, with no mutex
// held, whenever a message arrives and Take would then return true. Stop ends it.
func (q *Quorum) Listen(news func(), channels ...string) *Listener {
	l := &Listener{news: news, notifier: newMajorityNotifier(len(q.nodes), q.need)}
	for index, nd := range q.nodes {
		for _, channel := range channels {
			l.stops = append(l.stops, nd.Listen(channel, func(text string) { l.message(index, text) }))
		}
	}
	return l
}

// Stop ends the Listener.
func (l *Listener) Stop() {
	for _, stop := range l.stops {
		stop()
	}
}

// Take reports whether a waiter must try again: a majority of the nodes have sent a release message, one of them since
// the last Take that returned true. The start of a node's subscription counts as a message, since the node may have
// sent one before.
//
// A [Quorum.Probe] with this Listener ends the effect of earlier messages: of all nodes if a majority granted the
// probe, otherwise of the nodes that did not grant it. So a waiter that probes after each denied attempt misses no
// release that a majority publishes. Messages of earlier releases may wake it too early.
func (l *Listener) Take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.notifier.take()
}

// TakeText returns the text of the last release message that had one since the last call; "" if there was none.
func (l *Listener) TakeText() (text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, l.text = l.text, ""
	return text
}

func (l *Listener) message(index int, text string) {
	if l.record(index, text) {
		l.news()
	}
}

// record records a message, and reports whether Take would return true.
func (l *Listener) record(index int, text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text != "" {
		l.text = text
	}
	l.notifier.message(index)
	return l.notifier.due()
}

// lastMessage returns, for a Probe, the number of the last message; 0: there was none.
func (l *Listener) lastMessage() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.notifier.last
}

// discount makes the messages of a node up to before no longer count, because the node did not report the lock as free
// to a Probe.
func (l *Listener) discount(index int, before uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notifier.discount(index, before)
}

// majorityFree records in the notifier that a majority granted a Probe.
func (l *Listener) majorityFree(before uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notifier.majorityFree(before)
}
