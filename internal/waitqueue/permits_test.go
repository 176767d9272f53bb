package waitqueue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

// holders has callers acquire n permits.
func (p *process) holders(r waitqueue.Request, n int) (held []*lock) {
	p.t.Helper()
	for range n {
		held = append(held, p.permit(p.join(r)))
	}
	return held
}

// choose has a waiter ask for a slot that it may choose.
func (p *process) choose(w *waitqueue.Waiter, candidates []int) int {
	p.t.Helper()
	p.asks(w, 0)
	return w.ChooseSlot(candidates)
}

// refused has the waiter ask for a slot and be denied.
func (p *process) refused(w *waitqueue.Waiter) {
	p.t.Helper()
	p.choose(w, nil)
	w.RefuseSlot()
	p.failed(w, errHeld, true)
}

func TestAsManyAskAsThereAreSlots(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b, c := p.join(permit("x", 2)), p.join(permit("x", 2)), p.join(permit("x", 2))
	p.asks(a, 0)
	p.asks(b, 0)
	p.waits(c) // this process cannot hold more than two
	one := p.permit(a)
	p.waits(c)
	p.permit(b)
	require.ErrorIs(t, p.joinError(try(permit("x", 2))), errHeld)
	one.hold.Released(p.now, false)
	p.asks(c, 0)
}

func TestAfterADenialOneCallerAsksAtATime(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a := p.join(permit("x", 4))
	p.refused(a)
	b, c, d := p.join(permit("x", 4)), p.join(permit("x", 4)), p.join(permit("x", 4))
	p.waits(b)
	require.ErrorIs(t, b.Reason(), errHeld)
	p.pause(a)
	p.now = p.now.Add(time.Minute)
	p.permit(a)
	p.asks(b, 0)
	p.waits(c, d) // until one is granted that did not watch
	p.permit(b)
	p.asks(c, 0)
	p.asks(d, 0)
}

// After a denial one caller asks at a time. Each caller that is granted at once, without a wait for a release, lets
// one more ask.
func TestHowManyAskAfterADenial(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a := p.join(permit("x", 100))
	p.refused(a)
	p.pause(a)
	var waiters []*waitqueue.Waiter
	for range 20 {
		waiters = append(waiters, p.join(permit("x", 100)))
	}
	asking := func() (all []*waitqueue.Waiter) {
		for _, w := range waiters {
			if do := p.next(w); do.Action == waitqueue.Ask || do.After > 0 {
				all = append(all, w)
			}
		}
		return all
	}
	p.now = p.now.Add(time.Minute)
	p.permit(a)
	for _, n := range []int{1, 2, 4, 8} {
		now := asking()
		require.Len(t, now, n)
		for _, w := range now {
			p.permit(w)
		}
	}
}

func TestCallersOfAProcessChooseDifferentSlots(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	chosen := make(map[int]bool)
	var locks []*lock
	for range 3 {
		w := p.join(permit("x", 3))
		slot := p.choose(w, nil)
		assert.False(t, chosen[slot])
		chosen[slot] = true
		l := &lock{validity: time.Minute}
		w.Granted(&l.hold, p.now, p.now)
		locks = append(locks, l)
	}
	locks[1].hold.Released(p.now, false)
	w := p.join(permit("x", 3))
	slot := p.choose(w, []int{1, 2, 3})
	w.RefuseSlot()
	assert.Equal(t, slot, p.choose(w, nil), "the only one that this process does not use")
	w.Leave()
	again := p.join(permit("x", 3))
	assert.Equal(t, slot, p.choose(again, nil), "a waiter that gives up gives its slot back")
}

func TestAPermitIsPassedToTheOldestWaiter(t *testing.T) {
	t.Parallel()
	for name, pausing := range map[string]bool{"it pauses": true, "it asks the masters": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t)
			held := p.permit(p.join(permit("x", 2)))
			oldest := p.join(permit("x", 2))
			p.refused(oldest)
			next := p.join(permit("x", 2))
			if pausing {
				p.pause(oldest)
			}
			require.True(t, held.passes(p.now))
			got := next
			if pausing {
				got = oldest
			}
			successor := p.inherit(got, held)
			last := p.join(permit("x", 2))
			if pausing {
				p.asks(next, 0) // one of two permits is free
			}
			p.waits(last)
			successor.hold.Released(p.now, false)
		})
	}
}

func TestAPassedPermitIsReleasedIfItsWaiterGaveUp(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 1)))
	w, next := p.join(permit("x", 1)), p.join(permit("x", 1))
	require.True(t, held.passes(p.now))
	w.Leave()
	assert.Equal(t, 1, held.released)
	p.asks(next, 0)
}

func TestAProcessPrefersTheSlotThatItHadLast(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	var locks []*lock
	var slots []int
	p.join(permit("x", 1000)) // keeps the queue
	for range 3 {
		w := p.join(permit("x", 1000))
		slots = append(slots, p.choose(w, nil))
		l := &lock{}
		w.Granted(&l.hold, p.now, p.now)
		locks = append(locks, l)
	}
	for _, i := range []int{1, 2, 0} {
		locks[i].hold.Released(p.now, false)
	}
	for _, i := range []int{0, 2, 1} {
		assert.Equal(t, slots[i], p.choose(p.join(permit("x", 1000)), nil))
	}
	assert.NotContains(t, append(slots, 0), p.choose(p.join(permit("x", 1000)), nil), "no recent one is left")
}

func TestASlotIsChosenOfTheCandidates(t *testing.T) {
	t.Parallel()
	chosen := make(map[int]int)
	for range 200 {
		p := newProcess(t)
		slot := p.choose(p.join(permit("x", 9)), []int{2, 5, 9})
		chosen[slot]++
		other := p.choose(p.join(permit("x", 9)), []int{slot, 5})
		if slot == 5 {
			assert.Zero(t, other, "this process asks for all of them")
		} else {
			assert.Equal(t, 5, other)
		}
	}
	assert.Len(t, chosen, 3)
	for slot, n := range chosen {
		assert.Greater(t, n, 30, "slot %d", slot)
	}
}

func TestAnySlotCanBeChosen(t *testing.T) {
	t.Parallel()
	chosen := make(map[int]int)
	for range 300 {
		p := newProcess(t)
		chosen[p.choose(p.join(permit("x", 3)), nil)]++
	}
	assert.Len(t, chosen, 3)
	for slot := 1; slot <= 3; slot++ {
		assert.Greater(t, chosen[slot], 50, "slot %d", slot)
	}
}

func TestARefusedSlotIsForgotten(t *testing.T) {
	t.Parallel()
	const slots = 1 << 20 // another choice is another slot
	p := newProcess(t)
	w := p.join(permit("x", slots))
	slot := p.choose(w, nil)
	l := &lock{}
	w.Granted(&l.hold, p.now, p.now)
	l.hold.Released(p.now, false)
	w = p.join(permit("x", slots))
	require.Equal(t, slot, p.choose(w, nil), "also if no caller was left in between")
	w.RefuseSlot()
	again := p.choose(w, nil)
	assert.NotEqual(t, slot, again, "another process has it")
	w.Granted(&l.hold, p.now, p.now)
	l.hold.Released(p.now, false)
	assert.Equal(t, again, p.choose(p.join(permit("x", slots)), nil), "the next one is tried first from now on")
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

func TestAReasonEndsWithTheLastCaller(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 2)))
	a := p.join(permit("x", 2))
	p.failed(a, errLost, true)
	a.Leave()
	tried := p.join(try(permit("x", 2)))
	p.asks(tried, 0)
	assert.NoError(t, tried.Reason())
	tried.Leave()
	held.hold.Released(p.now, false)
}

func TestALeavingCallerGivesTheTurnOn(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b := p.join(permit("x", 1)), p.join(permit("x", 1))
	require.Positive(t, p.choose(a, nil))
	a.Leave()
	assert.Positive(t, p.choose(b, nil), "its slot is free, too")
	b.Leave()
}

func TestOnlyAPausingCallerInheritsWithTheTurn(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 2)))
	assert.False(t, held.passes(p.now), "there is no waiter")
	w := p.join(permit("x", 2))
	assert.False(t, held.passes(p.now), "it asks")
	p.refused(w)
	assert.False(t, held.passes(p.now), "it probes")
	p.pause(w)
	require.True(t, held.passes(p.now))
	assert.False(t, held.passes(p.now), "it has a lease")
	p.inherit(w, held)
}

func TestACallerThatYieldsInherits(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, w := p.wanted(2)
	held[0].hold.Published(3, p.now)
	held[0].hold.Released(p.now, false)
	p.pauses(w)
	require.True(t, held[1].passes(p.now))
	p.inherit(w, held[1])
}

func TestTwoPermitsArePassedToTwoCallers(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.holders(permit("x", 2), 2)
	a, b := p.join(permit("x", 2)), p.join(permit("x", 2))
	held[0].validity = time.Second
	require.False(t, held[0].passes(p.now), "most of the lease must be left")
	require.True(t, held[1].passes(p.now))
	p.inherit(a, held[1])
	held[0].validity = time.Minute
	require.True(t, held[0].passes(p.now))
	p.inherit(b, held[0])
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

func TestAReleaseOfAPermitIsNeverSilent(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 1)))
	held.validity = 0
	p.join(permit("x", 1))
	assert.Equal(t, waitqueue.ByMessage, held.hold.HandOver(held, p.now))
}

func TestASemaphoreListensAsLongAsACallerWaits(t *testing.T) {
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
func TestASemaphoreListensNoLongerThanItsLastCaller(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.holders(permit("x", 2), 2)
	w := p.join(permit("x", 2))
	w.Listen()
	require.True(t, held[0].passes(p.now))
	assert.Empty(t, p.subscriptions)
	p.inherit(w, held[0])
}

func TestASlotIsUsedUntilItsPermitIsReleased(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 1)))
	held.slow = true
	w, next := p.join(permit("x", 1)), p.join(permit("x", 1))
	require.True(t, held.passes(p.now))
	w.Leave()
	p.waits(next)
	assert.Zero(t, next.ChooseSlot([]int{1}))
	held.hold.Released(p.now, false)
	assert.Equal(t, 1, p.choose(next, []int{1}))
}

func TestACallerThatHasAPermitDoesNotLeave(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b := p.join(permit("x", 1)), p.join(permit("x", 1))
	held := p.permit(a)
	a.Leave()
	assert.Zero(t, b.ChooseSlot([]int{1}))
	require.True(t, held.passes(p.now))
	p.inherit(b, held)
	b.Leave()
	assert.Zero(t, held.released)
	assert.Zero(t, p.join(permit("x", 1)).ChooseSlot([]int{1}))
}

func TestACallerThatLeavesGivesBackNoRefusedSlot(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b, c := p.join(permit("x", 3)), p.join(permit("x", 3)), p.join(permit("x", 3))
	require.Equal(t, 1, p.choose(a, []int{1}))
	a.RefuseSlot()
	require.Equal(t, 1, p.choose(b, []int{1}))
	a.Leave()
	assert.Zero(t, p.choose(c, []int{1}), "the other caller asks for it")
}
