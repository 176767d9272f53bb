package waitqueue_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

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
	l.hold.Released(p.now, false)
	assert.Equal(t, again, p.choose(p.join(permit("x", slots)), nil), "the next one is tried first from now on")
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
