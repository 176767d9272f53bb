package waitqueue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
