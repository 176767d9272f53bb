package waitqueue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

func TestTurnsInTheOrderOfTheCalls(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b, c, d := p.join(writer("x")), p.join(mutex("x")), p.join(writer("x")), p.join(writer("x"))
	p.asks(a, 0)
	p.waits(b, c, d)
	la := p.grant(a)
	p.waits(b, c, d)
	b.Leave()
	p.waits(c, d)
	la.hold.Released(p.now, false)
	p.asks(c, 0)
	p.waits(d)
	c.Leave()
	c.Leave()
	p.asks(d, 0)
	ld := p.grant(d)
	d.Leave() // of no effect, since it has the lock
	ld.hold.Released(p.now, false)
	p.asks(p.join(writer("x")), 0)
}

func TestQueuesOfOneName(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.asks(p.join(mutex("x")), 0)
	p.waits(p.join(writer("x")))
	p.asks(p.join(reentrant("x", "me")), 0)
	several := mutex("x")
	several.Names = []string{"x", "y"}
	p.asks(p.join(several), 0)
	p.waits(p.join(several))
	p.asks(p.join(mutex("y")), 0)
	p.asks(p.join(reader("x")), 0)
	another := p.join(reader("x"))
	p.asks(another, 0)
	another.Leave()
	p.asks(p.join(permit("x", 1)), 0)
	p.waits(p.join(permit("x", 1)))
	p.asks(p.join(permit("x", 2)), 0)
	p.waits(p.join(writer("x")))
	for _, names := range [][]string{{`["x" "y"]`}, {"x", `y" "z`}, {"x", "y", "z"}} {
		other := mutex("")
		other.Names = names
		p.asks(p.join(other), 0)
	}
}

func TestTryLocks(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	head, second := p.join(writer("x")), p.join(try(mutex("x")))
	p.asks(head, 0)
	p.waits(second)
	p.failed(head, errLost, false)
	p.fails(second, errLost)
	require.ErrorIs(t, p.joinError(try(mutex("x"))), errLost, "the head was denied, and has not left")
	require.ErrorIs(t, head.Reason(), errLost)
	third := p.join(writer("x"))
	head.Leave()
	p.asks(third, 0)
	fourth, fifth := p.join(try(mutex("x"))), p.join(try(mutex("x")))
	p.waits(fourth, fifth)
	fifth.Leave()
	l := p.grant(third)
	p.fails(fourth, errHeld)
	err := p.joinError(try(mutex("x")))
	require.ErrorIs(t, err, errHeld)
	require.ErrorContains(t, err, "x writer")
	l.hold.Lost()
	l.hold.Lost()
	last := p.join(try(mutex("x")))
	p.waits(last)
	require.ErrorContains(t, last.Reason(), "x writer")
	l.hold.Released(p.now, false)
	p.asks(last, 0)
	require.NoError(t, last.Reason(), "a grant forgets the reason")
	l.hold.Lost() // of no effect, since it is released
	tried := p.join(try(mutex("x")))
	p.waits(tried)
	last.Leave()
	p.asks(tried, 0)
	require.ErrorIs(t, p.grant(tried).fails(p), errHeld)
}

// fails returns the error of a TryLock while the lock is held.
func (*lock) fails(p *process) error { return p.joinError(try(mutex("x"))) }

// The masters may grant the lock to a watcher that asks again. Its last answer stands until then.
func TestATryLockFailsAsTheWatcher(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	head := p.join(mutex("x"))
	p.failed(head, errLost, true)
	require.ErrorIs(t, p.joinError(try(mutex("x"))), errLost, "it probes")
	p.pause(head)
	require.ErrorIs(t, p.joinError(try(mutex("x"))), errLost, "it pauses")
	p.now = p.now.Add(time.Minute)
	p.asks(head, 0)
	require.ErrorIs(t, p.joinError(try(mutex("x"))), errLost, "it asks again")
}

// A caller that the queue fails does not get a second answer.
func TestAFailedTryLockLeaves(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	head, tried := p.join(writer("x")), p.join(try(mutex("x")))
	p.failed(head, errLost, false)
	p.fails(tried, errLost)
	tried.Leave()
	p.probes(head, errLost)
}

func TestALeaseIsPassedOn(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b := p.join(mutex("x")), p.join(mutex("x"))
	la := p.grant(a)
	alone := p.grant(p.join(mutex("y")))
	assert.False(t, alone.passes(p.now), "there is no waiter")
	la.validity = time.Second
	assert.False(t, la.passes(p.now), "most of the lease must be left")
	la.validity = time.Minute
	require.True(t, la.passes(p.now))
	require.ErrorIs(t, p.joinError(try(mutex("x"))), errHeld, "the lock is held in between")
	la.hold.Lost() // of no effect, since it has no lease any more
	require.ErrorIs(t, p.joinError(try(mutex("x"))), errHeld)
	c := p.join(mutex("x"))
	assert.False(t, la.passes(p.now), "it has no lease any more")
	lb := p.inherit(b, la)
	p.waits(c)
	assert.False(t, lb.passes(epoch.Add(21*time.Millisecond)), "the cohort began with the first holder")
	lb.hold.Lost()
	assert.False(t, lb.passes(p.now), "a lost lock is not passed on")
	lb.hold.Released(p.now, false)
	p.asks(c, 0)
}

// A waiter that gives up while it is given a lease releases the lock; then it is the next waiter's turn.
func TestAPassedLeaseWhoseWaiterGivesUp(t *testing.T) {
	t.Parallel()
	for _, received := range []bool{false, true} {
		p := newProcess(t)
		a, b, c := p.join(mutex("x")), p.join(mutex("x")), p.join(mutex("x"))
		la := p.grant(a)
		require.True(t, la.passes(p.now))
		if received {
			p.next(b)
		}
		b.Leave()
		assert.Equal(t, 1, la.released)
		p.asks(c, 0)
		c.Leave()
		assert.Equal(t, 1, la.released)
	}
}

func TestASilentRelease(t *testing.T) {
	t.Parallel()
	// silent has three callers wait for x, and releases the first one's lock silently.
	silent := func(t *testing.T) (p *process, l *lock, b, c *waitqueue.Waiter) {
		t.Helper()
		p = newProcess(t)
		a := p.join(mutex("x"))
		b, c = p.join(mutex("x")), p.join(mutex("x"))
		l = p.grant(a)
		l.validity = 0
		require.True(t, l.keepsSilent(p.now))
		l.hold.Released(p.now, true)
		p.asks(b, 0)
		return p, l, b, c
	}
	grant := func(p *process, w *waitqueue.Waiter) *lock {
		l := p.grant(w)
		l.validity = 0
		return l
	}
	t.Run("is not published if the next waiter acquires the lock", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		p.now = epoch.Add(10 * time.Millisecond)
		lb := grant(p, b)
		assert.Zero(t, l.published)
		assert.False(t, lb.keepsSilent(epoch.Add(22*time.Millisecond)), "the cohort continues")
		assert.True(t, lb.keepsSilent(epoch.Add(20*time.Millisecond)))
		c.Leave()
		assert.Zero(t, lb.published)
		lb.hold.Released(p.now, true)
		assert.Equal(t, 1, lb.published, "there is no waiter left")
	})
	t.Run("is not published after another release was", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		lb := grant(p, b)
		c.Leave()
		lb.hold.Released(p.now, false)
		assert.Zero(t, l.published)
	})
	t.Run("is not published if the lock turns out to be held", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		p.failed(b, errHeld, true)
		b.Leave()
		c.Leave()
		assert.Zero(t, l.published, "the holder publishes its release")
	})
	t.Run("is published once if the next waiter fails", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		p.failed(b, errLost, false)
		p.pause(b)
		p.now = epoch.Add(time.Minute)
		p.failed(b, errLost, false)
		assert.Equal(t, 1, l.published)
		p.pause(b)
		p.now = p.now.Add(time.Minute)
		lb := grant(p, b)
		assert.True(t, lb.keepsSilent(p.now.Add(20*time.Millisecond)), "a new cohort")
		c.Leave()
	})
	t.Run("is published if all waiters leave", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		b.Leave()
		p.asks(c, 0)
		assert.Zero(t, l.published)
		c.Leave()
		assert.Equal(t, 1, l.published)
	})
	t.Run("is published if the next waiter leaves after the budget", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		p.now = p.now.Add(time.Second)
		b.Leave()
		assert.Equal(t, 1, l.published)
		p.asks(c, 0)
		c.Leave()
		assert.Equal(t, 1, l.published)
	})
	t.Run("is published, and yields, if the next waiter leaves after the budget and others wait", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		l.hold.Published(1, p.now)
		p.now = p.now.Add(time.Second)
		b.Leave()
		assert.Equal(t, 1, l.published)
		p.asks(c, 50*time.Millisecond)
	})
	t.Run("is published if the next one may not have it", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		c.Leave()
		other := p.join(writer("x"))
		b.Leave()
		assert.Equal(t, 1, l.published)
		p.asks(other, 0)
	})
	t.Run("needs a waiter that may have the lock", func(t *testing.T) {
		t.Parallel()
		p := newProcess(t)
		l := grant(p, p.join(mutex("x")))
		assert.False(t, l.keepsSilent(p.now))
		p.join(writer("x"))
		assert.False(t, l.keepsSilent(p.now))
	})
}

func TestATryLockAfterALossDoesNotWait(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	l := p.grant(p.join(mutex("x")))
	l.hold.Published(3, p.now)
	p.now = p.now.Add(time.Second)
	l.hold.Lost()
	tried := p.join(try(mutex("x")))
	l.hold.Released(p.now, false)
	p.asks(tried, 0)
}

func TestALockThatOtherProcessesWaitFor(t *testing.T) {
	t.Parallel()
	const cooldown = 2 * time.Millisecond
	p := newProcess(t)
	l := p.grant(p.join(mutex("x")))
	l.hold.Released(p.now, false)
	l.hold.Published(1, p.now)
	p.now = p.now.Add(cooldown / 2)
	first := p.join(mutex("x"))
	p.asks(first, cooldown/2)
	first.Leave()
	tried := p.join(try(mutex("x")))
	p.asks(tried, 0)
	p.asks(p.join(reader("x")), 0)
	next := p.join(mutex("x"))
	tried.Leave()
	p.asks(next, cooldown/2)
	p.now = p.now.Add(time.Second)
	l = p.grant(next)
	l.hold.Published(1, p.now)
	second := p.join(mutex("x"))
	l.hold.Released(p.now.Add(30*time.Millisecond), false)
	p.asks(second, 59*time.Millisecond) // from now on
	p.now = p.now.Add(59 * time.Millisecond)
	l = p.grant(second)
	l.hold.Published(0, p.now)
	l.hold.Released(p.now.Add(30*time.Millisecond), false)
	p.asks(p.join(mutex("x")), 0)
}

// The messages are counted after the release: by then another caller may have the turn, or yield.
func TestTheMessagesAreCountedLate(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a := p.grant(p.join(mutex("x")))
	b := p.join(mutex("x"))
	a.hold.Released(p.now, false)
	p.asks(b, 0)
	a.hold.Published(2, p.now)
	b.Leave()
	c := p.join(mutex("x"))
	p.asks(c, 2*time.Millisecond)
	a.hold.Published(0, p.now)
	p.asks(c, 0)
}

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

func TestSubscription(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	several := mutex("x")
	several.Names = []string{"x", "y"}
	a, b := p.join(several), p.join(several)
	assert.Nil(t, a.Subscription())
	a.Listen()
	a.Listen()
	require.Len(t, p.subscriptions, 1)
	assert.Equal(t, several.Names, p.subscriptions[0].names)
	assert.Same(t, p.subscriptions[0], b.Subscription())
	l := p.grant(a)
	l.hold.Published(1, p.now) // the queue itself
	assert.Len(t, p.subscriptions, 1)
	l.hold.Released(p.now, false)
	p.asks(b, 0)
	b.Leave()
	assert.Empty(t, p.subscriptions, "there is no waiter")
}

func TestTheLastWaiterEndsTheSubscription(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a := p.join(mutex("x"))
	a.Listen()
	l := p.grant(a)
	assert.Empty(t, p.subscriptions)
	b := p.join(mutex("x"))
	b.Listen()
	require.True(t, l.passes(p.now))
	p.inherit(b, l)
	assert.Empty(t, p.subscriptions)
}

func TestAReasonEndsWithItsQueue(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	w := p.join(mutex("x"))
	p.failed(w, errLost, false)
	w.Leave()
	assert.NoError(t, p.join(mutex("x")).Reason())
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
	for name, pauses := range map[string]bool{"it pauses": true, "it probes": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
}

func TestAHoldInNoQueue(t *testing.T) {
	t.Parallel()
	var h waitqueue.Hold
	h.Released(epoch, true)
	h.Published(1, epoch)
	h.Lost()
	assert.Equal(t, waitqueue.ByMessage, h.HandOver(nil, epoch))
}

// A lock without contention costs the queue. Its caller provides the waiter, and needs no channel.
func TestUncontendedAllocations(t *testing.T) {
	p := newProcess(t)
	r := mutex("x")
	var l lock
	var w waitqueue.Waiter
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		p.Join(&w, r)
		w.Granted(&l.hold, epoch, epoch)
		l.hold.HandOver(&l, epoch)
		l.hold.Released(epoch, false)
		l.hold.Published(0, epoch)
	}), 1.0)
	assert.Nil(t, w.Woken())
}
