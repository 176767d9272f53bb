package waitqueue_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testmain"
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

func TestAPermitIsPassedToTheOldestWaiter(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]bool{"it pauses": true, "it asks the masters": false}, func(t *testing.T, pausing bool) {
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

// A waiter that was given a lease has left the line: what it does next does not change the order of the others.
func TestACallerJoinsBeforeAWaiterTakesItsLease(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 2)))
	asking, given := p.join(permit("x", 2)), p.join(permit("x", 2))
	require.True(t, held.passes(p.now))
	next := p.join(permit("x", 2))
	p.inherit(given, held).hold.Released(p.now, false)
	p.permit(asking)
	p.permit(next)
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

func TestAReleaseOfAPermitIsNeverSilent(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 1)))
	held.validity = 0
	p.join(permit("x", 1))
	assert.Equal(t, waitqueue.ByMessage, held.hold.HandOver(held, p.now))
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
	p.waits(waiters...)
	require.ErrorIs(t, waiters[0].Reason(), errHeld)
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

func TestCallersOfAProcessChooseDifferentSlots(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	chosen := make(map[int]bool)
	var locks []*lock
	for range 3 {
		slot, l := p.permitAt(p.join(permit("x", 3)))
		assert.False(t, chosen[slot])
		chosen[slot] = true
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

func TestAProcessPrefersTheSlotThatItHadLast(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	var locks []*lock
	var slots []int
	p.join(permit("x", 1000)) // keeps the queue
	for range 3 {
		slot, l := p.permitAt(p.join(permit("x", 1000)))
		slots, locks = append(slots, slot), append(locks, l)
	}
	for _, i := range []int{1, 2, 0} {
		locks[i].hold.Released(p.now, false)
	}
	other := slots[0]%1000 + 1
	for slices.Contains(slots, other) {
		other = other%1000 + 1
	}
	assert.Equal(t, other, p.choose(p.join(permit("x", 1000)), []int{other}), "a candidate goes before it")
	for _, i := range []int{0, 2, 1} {
		assert.Equal(t, slots[i], p.choose(p.join(permit("x", 1000)), nil))
	}
	assert.NotContains(t, append(slots, 0), p.choose(p.join(permit("x", 1000)), nil), "no recent one is left")
}

func TestARefusedSlotIsForgotten(t *testing.T) {
	t.Parallel()
	const slots = 1 << 20 // another choice is another slot
	p := newProcess(t)
	slot, l := p.permitAt(p.join(permit("x", slots)))
	l.hold.Released(p.now, false)
	w := p.join(permit("x", slots))
	require.Equal(t, slot, p.choose(w, nil), "also if no caller was left in between")
	w.RefuseSlot()
	again, l := p.permitAt(w)
	assert.NotEqual(t, slot, again, "another process has it")
	assert.Greater(t, again, 1, "it is a random one")
	l.hold.Released(p.now, false)
	assert.Equal(t, again, p.choose(p.join(permit("x", slots)), nil), "the next one is tried first from now on")
}

// The next search begins at the slot that the process got, in each semaphore.
func TestASearchBeginsWhereTheProcessGotASlot(t *testing.T) {
	t.Parallel()
	const slots = 1 << 20
	p := newProcess(t)
	w := p.join(permit("x", slots))
	require.Equal(t, 1, p.choose(w, []int{1}))
	l := &lock{validity: time.Minute}
	w.Granted(&l.hold, p.now, p.now)
	l.hold.Released(p.now, false)
	for slot := range 3 {
		assert.Equal(t, 1+slot, p.choose(p.join(permit("y", slots)), nil))
	}
	p.permit(p.join(permit("x", slots)))
	w = p.join(permit("x", slots))
	require.Equal(t, 5, p.choose(w, []int{5}))
	w.Granted(&l.hold, p.now, p.now)
	l.hold.Released(p.now, false)
	assert.Equal(t, 5, p.choose(p.join(permit("x", slots)), nil), "the one that it released goes before")
}

// A TryLock that waits fails with an attempt that it must not overtake. One that asks already goes on.
func TestAFailedAttemptLeavesATryLockThatAsks(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	first, asking, waiting := p.join(permit("x", 2)), p.join(try(permit("x", 2))), p.join(try(permit("x", 2)))
	p.refused(first)
	p.fails(waiting, errHeld)
	p.permit(asking)
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

func TestACallerThatLeavesGivesBackNoRefusedSlot(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b, c := p.join(permit("x", 3)), p.join(permit("x", 3)), p.join(permit("x", 3))
	require.Equal(t, 1, p.choose(a, []int{1}))
	a.RefuseSlot()
	require.Equal(t, 1, p.choose(b, []int{1}))
	a.Leave()
	assert.Zero(t, p.choose(c, []int{1}), "the other caller asks for it")
	b.Leave()
	assert.Equal(t, 1, p.choose(c, []int{1}), "now it does not")
}

func TestTheFirstSlotIsChosenAtRandom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		slots            int
		candidates, want []int
	}{
		{3, nil, []int{1, 2, 3}},
		{9, []int{2, 5, 9}, []int{2, 5, 9}},
	} {
		chosen := make(map[int]int)
		for range 300 {
			p := newProcess(t)
			r := permit("x", tt.slots)
			slot := p.choose(p.join(r), tt.candidates)
			chosen[slot]++
			other := p.choose(p.join(r), tt.want)
			assert.NotEqual(t, slot, other)
			assert.Zero(t, p.choose(p.join(r), []int{slot, other}), "this process asks for all of them")
		}
		assert.Len(t, chosen, len(tt.want))
		for _, slot := range tt.want {
			assert.Greater(t, chosen[slot], 50, "slot %d of %d", slot, tt.slots)
		}
	}
}

// wanted has callers hold all slots of a semaphore for 40 ms, and another one wait.
func (p *process) wanted(slots int) (held []*lock, waiter *waitqueue.Waiter) {
	p.t.Helper()
	held = p.holders(permit("x", slots), slots)
	waiter = p.join(permit("x", slots))
	waiter.Listen()
	p.now = p.now.Add(15 * time.Millisecond)
	return held, waiter
}

// While other processes wait, a process takes its share of the slots at once, and leaves the others to them.
func TestAProcessTakesItsShareAtOnce(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.holders(permit("x", 5), 4)
	a, b, c := p.join(permit("x", 5)), p.join(permit("x", 5)), p.join(permit("x", 5))
	p.refused(a)
	p.pause(a)
	p.now = p.now.Add(40 * time.Millisecond)
	held[0].hold.Published(2, p.now) // one of them this process, so each has a share of two
	for _, l := range held[:2] {
		l.hold.Released(p.now, false)
		p.pauses(a) // it would be the third or fourth
	}
	held[2].hold.Released(p.now, false)
	p.asks(a, 0) // it need not wait for the message
	p.permit(a)
	p.asks(b, 40*time.Millisecond) // it would be the third
	held[3].hold.Released(p.now, false)
	p.asks(b, 0) // it is the second now
	p.waits(c)
}

// Each caller in the share is woken, whoever was before it.
func TestEachCallerInTheShareIsWoken(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, first := p.wanted(8)
	held[0].hold.Published(2, p.now)
	for _, l := range held[:4] {
		l.hold.Released(p.now, false)
	}
	second, third, fourth := p.join(permit("x", 8)), p.join(permit("x", 8)), p.join(permit("x", 8))
	callers := []*waitqueue.Waiter{first, second, third, fourth}
	for _, w := range callers {
		p.pauses(w)
	}
	held[4].hold.Released(p.now, false)
	p.asks(first, 0)
	p.pauses(second)
	held[5].hold.Released(p.now, false)
	p.asks(second, 0)
	p.pauses(third)
	first.Leave()
	p.asks(third, 0)
	p.pauses(fourth)
}

// Each release begins another cooldown, also before its message was counted.
func TestASemaphoreYieldsAfterEachRelease(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, w := p.wanted(2)
	held[0].hold.Published(2, p.now)
	held[0].hold.Released(p.now, false)
	p.asks(w, 15*time.Millisecond)
	w.Leave()
	p.now = p.now.Add(time.Second)
	held[1].hold.Released(p.now, false)
	p.asks(p.join(permit("x", 2)), 50*time.Millisecond)
}

func TestACallerIsWokenForTheOnlyPermitOfTheShare(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, w := p.wanted(2)
	held[0].hold.Published(2, p.now)
	held[0].hold.Released(p.now, false)
	p.pauses(w)
	held[1].hold.Released(p.now, false)
	p.asks(w, 0)
}

// More processes than slots: each of the others gets the time that this one had.
func TestTheCooldownOfMoreProcessesThanSlots(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, w := p.wanted(2)
	held[0].hold.Published(6, p.now)
	held[0].hold.Released(p.now, false)
	p.asks(w, 45*time.Millisecond) // three times two of them
}
