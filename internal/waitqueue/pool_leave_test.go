package waitqueue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

func TestAPoolListensAsLongAsACallerWaits(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 1)))
	first, second := p.join(permit("x", 1)), p.join(permit("x", 1))
	first.Listen()
	first.Leave()
	assert.Len(t, p.subscriptions, 1, "one waits without the turn")
	held.hold.Released(p.now, false)
	third := p.join(permit("x", 1))
	third.Leave()
	assert.Len(t, p.subscriptions, 1, "one has the turn")
	second.Leave()
	assert.Empty(t, p.subscriptions)
}

// The caller that a lease is passed to waits for nothing any more.
func TestAPoolListensNoLongerThanItsLastCaller(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	one, two := p.permit(p.join(permit("x", 2))), p.permit(p.join(permit("x", 2)))
	w := p.join(permit("x", 2))
	w.Listen()
	require.True(t, one.hold.PassLease(one, p.now))
	two.hold.Released(p.now, false)
	assert.Empty(t, p.subscriptions)
	w.Inherited(&waitqueue.Hold{})
}

// slow is a lock whose release takes some time.
type slow struct{ *lock }

func (slow) Release() {}

func TestASlotIsUsedUntilItsPermitIsReleased(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 1)))
	w, next := p.join(permit("x", 1)), p.join(permit("x", 1))
	require.True(t, held.hold.PassLease(slow{held}, p.now))
	w.Leave()
	assert.Zero(t, next.ChooseSlot([]int{1}))
	held.hold.Released(p.now, false)
	assert.Equal(t, 1, next.ChooseSlot([]int{1}))
}

func TestACallerThatHasAPermitDoesNotLeave(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b := p.join(permit("x", 1)), p.join(permit("x", 1))
	held := p.permit(a)
	a.Leave()
	assert.Zero(t, b.ChooseSlot([]int{1}))
	require.True(t, held.hold.PassLease(held, p.now))
	b.Inherited(&waitqueue.Hold{})
	b.Leave()
	assert.Zero(t, held.released)
	assert.Zero(t, p.join(permit("x", 1)).ChooseSlot([]int{1}))
}

func TestACallerThatLeavesGivesBackNoRefusedSlot(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b, c := p.join(permit("x", 3)), p.join(permit("x", 3)), p.join(permit("x", 3))
	require.Equal(t, 1, a.ChooseSlot([]int{1}))
	a.RefuseSlot()
	require.Equal(t, 1, b.ChooseSlot([]int{1}))
	a.Leave()
	assert.Zero(t, c.ChooseSlot([]int{1}), "the other caller asks for it")
}

// A release may have woken the caller that leaves, and no other.
func TestACallerThatLeavesMakesAnotherTryAgain(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b, c := p.join(permit("x", 3)), p.join(permit("x", 3)), p.join(permit("x", 3))
	for _, w := range []*waitqueue.Waiter{a, b, c} {
		p.turn(w)
	}
	c.ChooseSlot(nil)
	a.Leave()
	assert.Empty(t, c.Nudges(), "the one that left had not asked")
	tries := p.join(tryPermit("x", 3))
	p.turn(tries)
	tries.ChooseSlot(nil)
	tries.Leave()
	assert.Empty(t, c.Nudges(), "a TryLock waits for no release")
	b.ChooseSlot(nil)
	b.Leave()
	assert.Len(t, c.Nudges(), 1)
}

// A caller that has a permit may have used up the nudge of the release of another one.
func TestACallerThatHasAPermitMakesAnotherTryAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(p *process, held *lock, w *waitqueue.Waiter)
		nudges int
	}{
		"its first attempt is granted": {func(*process, *lock, *waitqueue.Waiter) {}, 0},
		"granted after a release in this process": {
			func(p *process, held *lock, _ *waitqueue.Waiter) { held.hold.Released(p.now, false) }, 1,
		},
		"it inherits": {
			func(p *process, held *lock, w *waitqueue.Waiter) {
				w.RefuseSlot() // it has not heard of a denial yet
				w.Pause()
				require.True(p.t, held.hold.PassLease(held, p.now))
				<-w.Nudges()
			},
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t)
			held := p.permit(p.join(permit("x", 3)))
			a, b := p.join(permit("x", 3)), p.join(permit("x", 3))
			for _, w := range []*waitqueue.Waiter{a, b} {
				p.turn(w)
				w.ChooseSlot(nil)
			}
			tt.before(p, held, a)
			require.Empty(t, b.Nudges())
			a.Granted(&waitqueue.Hold{}, p.now, p.now)
			assert.Len(t, b.Nudges(), tt.nudges)
		})
	}
}

func TestACallerThatInheritsWithoutTheTurnNudgesNone(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 2)))
	asks, waits := p.join(permit("x", 2)), p.join(permit("x", 2))
	p.turn(asks)
	asks.ChooseSlot(nil)
	require.True(t, held.hold.PassLease(held, p.now))
	waits.Inherited(&waitqueue.Hold{})
	assert.Empty(t, asks.Nudges())
}

func TestTwoPermitsArePassedToTwoCallers(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	one, two := p.permit(p.join(permit("x", 2))), p.permit(p.join(permit("x", 2)))
	a, b := p.join(permit("x", 2)), p.join(permit("x", 2))
	one.validity = time.Second
	require.False(t, one.hold.PassLease(one, p.now), "most of the lease must be left")
	require.True(t, two.hold.PassLease(two, p.now))
	assert.Same(t, two, p.turn(a).Lock)
	one.validity = time.Minute
	require.True(t, one.hold.PassLease(one, p.now))
	assert.Same(t, one, p.turn(b).Lock)
}

// A TryLock asks if no other caller does, whatever the last attempt was.
func TestATryLockAsksWhileALeaseIsPassed(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, w := p.permit(p.join(permit("x", 3))), p.join(permit("x", 3))
	p.turn(w)
	p.failed(w, errLost, true)
	w.Pause()
	require.True(t, held.hold.PassLease(held, p.now))
	p.asks(p.join(tryPermit("x", 3)), 0)
}
