package waitqueue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testmain"
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
	lb := p.inherit(b, la)
	p.waits(c)
	assert.False(t, lb.passes(epoch.Add(21*time.Millisecond)), "the cohort began with the first holder")
	lb.hold.Lost()
	lb.hold.Released(p.now, false)
	lc, d := p.grant(c), p.join(mutex("x"))
	lc.hold.Released(p.now, false)
	lc.hold.Lost() // too late
	p.grant(d)
	require.ErrorIs(t, p.joinError(try(mutex("x"))), errHeld)
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
	l = p.grant(p.join(mutex("x")))
	l.hold.Published(1, p.now)
	l.hold.Released(p.now, false)
	p.asks(p.join(mutex("x")), cooldown) // the one for which no other process waited is forgotten
}

// An owner that acquires the lock during a cooldown ends it. Only the cooldown after its own release counts then.
func TestAReentrantLockEndsACooldown(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	l := p.grant(p.join(reentrant("x", "me")))
	l.hold.Published(1, p.now)
	l.hold.Released(p.now.Add(30*time.Millisecond), false)
	other := p.join(reentrant("x", "you"))
	p.asks(other, 59*time.Millisecond)
	l = p.grant(p.join(try(reentrant("x", "me"))))
	l.hold.Published(1, p.now)
	l.hold.Released(p.now, false)
	p.asks(p.join(reentrant("x", "another")), 2*time.Millisecond)
}

func TestACallerOfAReentrantLockThatIsHeldDoesNotYield(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	l := p.grant(p.join(reentrant("x", "me")))
	l.hold.Released(p.now, false)
	p.grant(p.join(reentrant("x", "me")))
	l.hold.Published(1, p.now) // counted late: a cooldown begins
	p.asks(p.join(reentrant("x", "me")), 0)
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

func TestAWatcherMayPauseWithoutASubscription(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	w := p.join(mutex("x"))
	p.failed(w, errHeld, true)
	p.probes(w, errHeld)
	w.Pause(time.Minute)
	p.tell(w, w.Next())
	p.pauses(w)
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

// A waiter that gives up while it is given a lease releases the lock; then it is the next waiter's turn.
func TestAPassedLeaseWhoseWaiterGivesUp(t *testing.T) {
	t.Parallel()
	type testCase struct {
		request  waitqueue.Request
		acquire  func(*process, *waitqueue.Waiter) *lock
		received bool
	}
	testmain.Each(t, map[string]testCase{
		"of a mutex":                 {mutex("x"), (*process).grant, false},
		"of a mutex, when it knows":  {mutex("x"), (*process).grant, true},
		"of a permit":                {permit("x", 1), (*process).permit, false},
		"of a permit, when it knows": {permit("x", 1), (*process).permit, true},
	}, func(t *testing.T, tc testCase) {
		p := newProcess(t)
		a, b, c := p.join(tc.request), p.join(tc.request), p.join(tc.request)
		la := tc.acquire(p, a)
		require.True(t, la.passes(p.now))
		if tc.received {
			p.next(b)
		}
		b.Leave()
		assert.Equal(t, 1, la.released)
		p.asks(c, 0)
		c.Leave()
		assert.Equal(t, 1, la.released)
	})
}

func TestTheSubscriptionEndsWithTheLastWaiter(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a := p.join(mutex("x"))
	a.Listen()
	l := p.grant(a)
	assert.Empty(t, p.subscriptions)
	b := p.join(mutex("x"))
	b.Listen()
	require.True(t, l.passes(p.now))
	assert.Empty(t, p.subscriptions, "it waits for nothing anymore")
	p.inherit(b, l)
}

func TestTryLocks(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	head, second := p.join(writer("x")), p.join(try(mutex("x")))
	p.asks(head, 0)
	p.waits(second)
	p.failed(head, errLost, false)
	p.fails(second, errLost)
	second.Leave() // of no effect, since it has its answer
	p.probes(head, errLost)
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
	p.grant(tried)
	require.ErrorIs(t, p.joinError(try(mutex("x"))), errHeld)
}

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

func TestATryLockOfASemaphoreFailsAsTheAttemptBefore(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, waiting := p.join(permit("x", 4)), p.join(permit("x", 1))
	before := p.join(try(permit("x", 4)))
	p.asks(before, 0)
	before.Leave()
	p.refused(a)
	require.ErrorIs(t, p.joinError(try(permit("x", 4))), errHeld, "one caller watches")

	tried := p.join(try(permit("x", 1))) // of another queue, which has one slot
	p.waits(tried)
	p.failed(waiting, errLost, true)
	p.fails(tried, errLost)
	tried.Leave()
}

func TestATryLockOfASemaphoreFailsWhenItsPermitsAreTaken(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, tried := p.join(permit("x", 1)), p.join(try(permit("x", 1)))
	p.permit(a)
	p.fails(tried, errHeld)

	p.permit(p.join(permit("y", 3)))
	c, asking := p.join(permit("y", 3)), p.join(try(permit("y", 3)))
	p.failed(c, errLost, true)
	p.asks(asking, 0) // a TryLock that asks goes on
}

func TestATryLockOfASemaphoreThatGivesUpDoesNotFail(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, tried := p.join(permit("x", 1)), p.join(try(permit("x", 1)))
	tried.Leave()
	p.failed(a, errLost, true)
	require.ErrorIs(t, a.Reason(), errLost)
	next := p.join(permit("x", 1))
	p.pause(a)
	p.now = p.now.Add(time.Minute)
	l := p.permit(a)
	require.ErrorIs(t, next.Reason(), errHeld)
	l.hold.Released(p.now, false)
	p.asks(next, 0)
	assert.NoError(t, next.Reason(), "the next caller does not know yet")
}

// A TryLock asks if no other caller does, whatever the last attempt was.
func TestATryLockAsksWhileALeaseIsPassed(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, w := p.permit(p.join(permit("x", 3))), p.join(permit("x", 3))
	p.refused(w)
	p.pause(w)
	require.True(t, held.passes(p.now))
	p.asks(p.join(try(permit("x", 3))), 0)
}

// A TryLock that waits for the release of a lost permit goes on waiting when another permit is passed on.
func TestATryLockAfterALossWaitsWhileALeaseIsPassed(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	lost, held := p.permit(p.join(permit("x", 2))), p.permit(p.join(permit("x", 2)))
	next := p.join(permit("x", 2))
	lost.hold.Lost()
	tried := p.join(try(permit("x", 2)))
	require.True(t, held.passes(p.now))
	p.inherit(next, held)
	p.waits(tried)
	lost.hold.Released(p.now, false)
	p.asks(tried, 0)
}
