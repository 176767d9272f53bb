package quorum

import (
	"sync"

	"github.com/redlock-go/redlock/node"
)

// A Listener listens to the releases of a lock, for one waiter at a time.
type Listener struct {
	stops []func()

	mu       sync.Mutex
	notifier majorityNotifier
	woken    chan struct{} // closed to wake the waiter; nil: none waits
}

// Listen listens on the channels of a lock's names on every node. It returns at once. Stop ends it.
func (q *Quorum) Listen(channels ...string) *Listener {
	l := &Listener{notifier: newMajorityNotifier(len(q.nodes), q.need)}
	for index, nd := range q.nodes {
		for _, channel := range channels {
			l.stops = append(l.stops, nd.Listen(channel, func() { l.message(index) }))
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

// Wait returns a channel that is closed when the waiter has to try again: when a majority of the nodes have sent a
// release message. The start of a node's subscription counts as a message, since the node may have sent one before.
//
// A message counts until its node answers a [Quorum.Probe] of the Listener that started later, and does not grant it.
// If the waiter probes after each attempt that was denied, it is woken no later than by the last message of a majority
// for one release. It may be woken too early, by messages of earlier releases.
//
// The caller must call stop when it waits no longer.
func (l *Listener) Wait() (woken <-chan struct{}, stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan struct{})
	l.woken = c
	if l.notifier.arm() {
		l.wake()
	}
	return c, l.disarm
}

func (l *Listener) disarm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notifier.armed, l.woken = false, nil
}

func (l *Listener) message(index int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notifier.message(index) {
		l.wake()
	}
}

// wake wakes the waiter. It must be called with l.mu held.
func (l *Listener) wake() {
	close(l.woken)
	l.woken = nil
}

// lastMessage returns the number of the last message.
func (l *Listener) lastMessage() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.notifier.last
}

// observe makes the Listener observe the vote on a probe that started when the last message was asked.
func (l *Listener) observe(c *node.Call, asked uint64) {
	c.Voter = &observer{listener: l, asked: asked, next: c.Voter}
}

// observer records in a Listener which nodes did not report the lock as free.
type observer struct {
	listener *Listener
	asked    uint64
	next     node.Voter
}

func (o *observer) Vote(index int, v node.Vote) {
	if v.Verdict != node.Granted {
		o.listener.mu.Lock()
		o.listener.notifier.refute(index, o.asked)
		o.listener.mu.Unlock()
	}
	o.next.Vote(index, v)
}

// majorityFree records in the notifier that a majority granted a probe.
func (l *Listener) majorityFree(asked uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notifier.majorityFree(asked)
}
