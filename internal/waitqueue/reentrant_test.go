package waitqueue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// The owner of a reentrant lock does not yield to others while it holds it.
func TestAReentrantLockYieldsOnce(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	l := p.grant(p.join(reentrant("x", "me")))
	l.hold.Released(p.now, false)
	l.hold.Published(1, p.now)
	first := p.join(reentrant("x", "me"))
	p.asks(first, 2*time.Millisecond)
	second := p.join(reentrant("x", "me"))
	p.asks(second, 2*time.Millisecond)
	tried := p.join(try(reentrant("x", "me")))
	p.asks(tried, 0)
	p.grant(tried)
	p.asks(second, 0)
	p.asks(p.join(reentrant("x", "me")), 0)
}

// A caller asks before it waits: its owner may hold the lock, here or elsewhere.
func TestOwnersOfAReentrantLock(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	you := p.join(reentrant("x", "you"))
	p.denied(you)
	me, me2, gone := p.join(reentrant("x", "me")), p.join(reentrant("x", "me")), p.join(reentrant("x", "me"))
	for _, w := range []*waitqueue.Waiter{me, me2, gone} {
		p.failed(w, errHeld, true)
	}
	p.waits(me, me2, gone)
	gone.Leave()
	first := p.join(reentrant("x", "me"))
	l0 := p.grant(first)
	p.asks(me, 0) // its owner holds the lock
	p.asks(me2, 0)
	p.pauses(you)

	l1 := p.grant(me)
	p.failed(me2, errHeld, true)
	p.asks(me2, 0) // it was to ask again, since its attempt may have begun before the grant
	l2 := p.grant(me2)
	require.ErrorContains(t, you.Reason(), "x reentrant")
	l0.hold.Released(p.now, false)
	l1.hold.Released(p.now, false)
	p.pauses(you)
	l2.hold.Released(p.now, false)
	p.asks(you, 0)
	p.failed(you, errHeld, true)
	p.probes(you, errHeld)

	later := p.join(reentrant("x", "me"))
	p.failed(later, errHeld, true)
	p.waits(later)
	you.OwnersHold([]string{"me", "unknown"})
	p.asks(later, 0)
	p.failed(later, errHeld, true)
	p.waits(later)
	you.Leave()
	p.probes(later, errHeld)
}

// Owners that ask at once do not take the turn from the callers that wait.
func TestOwnersThatAskAtOnceKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.grant(p.join(reentrant("x", "me")))
	waits := p.join(reentrant("x", "you"))
	p.failed(waits, errHeld, true)
	p.waits(waits)
	asks := p.join(reentrant("x", "a third"))
	p.asks(asks, 0)
	held.hold.Released(p.now, false)
	p.asks(waits, 0)
	p.failed(asks, errHeld, true)
	p.waits(asks)
}

// An owner that holds the lock may watch: its caller then asks at once.
func TestTheWatcherAsksIfItsOwnerGetsTheLock(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]bool{"it pauses": true, "it probes": false}, func(t *testing.T, pauses bool) {
		p := newProcess(t)
		w := p.join(reentrant("x", "me"))
		p.failed(w, errHeld, true)
		if pauses {
			p.pause(w)
		}
		w.OwnersHold([]string{"me"})
		if !pauses {
			p.pause(w)
		}
		p.asks(w, 0)
	})
}
