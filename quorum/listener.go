package quorum

import (
	"slices"
	"sync"

	"github.com/redlock-go/redlock/internal/wire"
)

// A Listener listens to the releases of a lock, for the waiters of one queue. A majority of messages wakes the one that
// called Wait first, and each further message the next one. Usually one waits at a time; of a semaphore, several may.
type Listener struct {
	stops []func()

	mu       sync.Mutex
	notifier majorityNotifier
	waiting  []chan struct{} // one for each call of Wait, in their order; closed to wake the waiter
	text     string          // of the last message that had one
}

// Listen listens on the channels of a lock's names on every node. It returns at once. Stop ends it.
func (q *Quorum) Listen(channels ...string) *Listener {
	l := &Listener{notifier: newMajorityNotifier(len(q.nodes), q.need)}
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

// Wait returns a channel that is closed when the waiter must try again: when a majority of the nodes have sent a
// release message. The start of a node's subscription counts as a message, since the node may have sent one before. A
// waiter that called Wait before is woken first.
//
// A message counts until a later [Quorum.Probe] with this Listener. After the probe it still counts if its node granted
// the probe and no majority did. So a waiter that probes after each denied attempt misses no release that a majority
// publishes. Messages of earlier releases may wake it too early.
//
// The caller must call stop when it no longer waits.
func (l *Listener) Wait() (woken <-chan struct{}, stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan struct{})
	l.waiting = append(l.waiting, c)
	if l.notifier.arm() {
		l.wake()
	}
	return c, func() { l.remove(c) }
}

// TakeText returns the text of the last release message that had one since the last call; "" if there was none.
func (l *Listener) TakeText() (text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, l.text = l.text, ""
	return text
}

// remove removes a waiter, unless it was woken.
func (l *Listener) remove(c chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(other chan struct{}) bool { return other == c })
	l.notifier.armed = len(l.waiting) > 0
}

func (l *Listener) message(index int, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text != "" {
		l.text = text
	}
	if l.notifier.message(index) {
		l.wake()
	}
}

// wake wakes the waiter that called Wait first. It must be called with l.mu held.
func (l *Listener) wake() {
	close(l.waiting[0])
	l.waiting = slices.Delete(l.waiting, 0, 1)
	l.notifier.armed = len(l.waiting) > 0
}

// lastMessage returns the number of the last message; 0: there was none.
func (l *Listener) lastMessage() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.notifier.last
}

// observe makes the Listener observe the vote on a probe. before is the last message before the probe.
func (l *Listener) observe(c *wire.Call, before uint64) {
	c.Voter = &observer{listener: l, before: before, next: c.Voter}
}

// observer is a Voter that records in its Listener that a node does not report the lock as free, and passes the vote
// on.
type observer struct {
	listener *Listener
	before   uint64 // the last message before the probe
	next     wire.Voter
}

func (o *observer) Vote(index int, v wire.Vote) {
	if v.Verdict != wire.Granted {
		o.listener.mu.Lock()
		o.listener.notifier.refute(index, o.before)
		o.listener.mu.Unlock()
	}
	o.next.Vote(index, v)
}

// majorityFree records in the notifier that a majority granted a probe.
func (l *Listener) majorityFree(before uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notifier.majorityFree(before)
}
