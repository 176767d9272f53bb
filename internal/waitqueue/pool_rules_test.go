package waitqueue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

func tryPermit(name string, slots int) waitqueue.Request {
	r := permit(name, slots)
	r.Try = true
	return r
}

// slotOf takes a permit and releases it, and returns its slot.
func (p *process) slotOf(name string, slots int) int {
	p.t.Helper()
	w := p.join(permit(name, slots))
	p.turn(w)
	slot := w.ChooseSlot(nil)
	l := &lock{}
	w.Granted(&l.hold, p.now, p.now)
	l.hold.Released(p.now, false)
	return slot
}

func TestAProcessPrefersTheSlotThatItHadLast(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	var locks []*lock
	var slots []int
	for range 3 {
		w := p.join(permit("x", 1000))
		p.turn(w)
		slots = append(slots, w.ChooseSlot(nil))
		l := &lock{}
		w.Granted(&l.hold, p.now, p.now)
		locks = append(locks, l)
	}
	for _, i := range []int{1, 2, 0} {
		locks[i].hold.Released(p.now, false)
	}
	for _, i := range []int{0, 2, 1} {
		w := p.join(permit("x", 1000))
		p.turn(w)
		assert.Equal(t, slots[i], w.ChooseSlot(nil))
	}
	w := p.join(permit("x", 1000))
	p.turn(w)
	assert.NotContains(t, append(slots, 0), w.ChooseSlot(nil), "no recent one is left")
}

func TestASlotIsChosenOfTheCandidates(t *testing.T) {
	t.Parallel()
	chosen := make(map[int]int)
	for range 200 {
		p := newProcess(t)
		w := p.join(permit("x", 9))
		p.turn(w)
		slot := w.ChooseSlot([]int{2, 5, 9})
		chosen[slot]++
		second := p.join(permit("x", 9))
		p.turn(second)
		other := second.ChooseSlot([]int{slot, 5})
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
		w := p.join(permit("x", 3))
		p.turn(w)
		chosen[w.ChooseSlot(nil)]++
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
	slot := p.slotOf("x", slots)
	w := p.join(permit("x", slots))
	p.turn(w)
	require.Equal(t, slot, w.ChooseSlot(nil))
	w.RefuseSlot()
	w.Leave()
	assert.NotEqual(t, slot, p.slotOf("x", slots), "another process has it")
}

// A pool without callers is kept for the slots that it remembers: of many, the last ones that were used.
func TestManyIdlePoolsAreForgotten(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, asking := p.permit(p.join(permit("held", 1))), p.join(permit("asking", 1))
	remembered := make(map[string]int)
	for i := range 256 {
		name := fmt.Sprint("x", i)
		remembered[name] = p.slotOf(name, 1<<20)
	}
	same := func(i int) bool { return p.slotOf(fmt.Sprint("x", i), 1<<20) == remembered[fmt.Sprint("x", i)] }
	require.True(t, same(0), "256 pools are not too many")
	p.join(permit("one more", 1)).Leave()
	assert.False(t, same(1))
	assert.False(t, same(2), "1 is back")
	assert.True(t, same(0), "it was used later")
	assert.True(t, same(255))

	_, err := p.Join(tryPermit("held", 1))
	require.ErrorIs(t, err, errHeld, "a pool with a permit is kept")
	held.hold.Released(p.now, false)
	assert.False(t, hasTurn(p.join(permit("asking", 1))), "and one with a waiter")
	asking.Leave()
}

func TestATryLockOfASemaphoreFailsAsTheAttemptBefore(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, waiting := p.join(permit("x", 4)), p.join(permit("x", 1))
	p.turn(a)
	before := p.join(tryPermit("x", 4))
	p.asks(before, 0)
	before.Leave()
	p.failed(a, errLost, true)
	_, err := p.Join(tryPermit("x", 4))
	require.ErrorIs(t, err, errLost, "one caller asks at a time, and was denied")

	p.turn(waiting) // of another pool, which has one slot
	tried := p.join(tryPermit("x", 1))
	assert.False(t, hasTurn(tried))
	p.failed(waiting, errLost, true)
	p.fails(tried, errLost)
	tried.Leave()
}

func TestATryLockOfASemaphoreFailsWhenItsPermitsAreTaken(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, tried := p.join(permit("x", 1)), p.join(tryPermit("x", 1))
	p.permit(a)
	p.fails(tried, errHeld)

	b, c, asking := p.join(permit("y", 3)), p.join(permit("y", 3)), p.join(tryPermit("y", 3))
	p.permit(b)
	p.turn(c)
	p.failed(c, errLost, true)
	p.asks(asking, 0)
	assert.Empty(t, asking.Wakeups(), "a TryLock that asks goes on")
}

func TestATryLockOfASemaphoreThatGivesUpDoesNotFail(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, tried := p.join(permit("x", 1)), p.join(tryPermit("x", 1))
	p.turn(a)
	tried.Leave()
	p.failed(a, errLost, true)
	assert.Empty(t, tried.Wakeups())
	require.ErrorIs(t, a.Reason(), errLost)
	next := p.join(permit("x", 1))
	a.ChooseSlot(nil)
	l := &lock{}
	a.Granted(&l.hold, p.now, p.now)
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
	p.turn(a)
	p.failed(a, errLost, true)
	a.Leave()
	tried := p.join(tryPermit("x", 2))
	p.asks(tried, 0)
	assert.NoError(t, tried.Reason())
	tried.Leave()
	held.hold.Released(p.now, false)
}

// After a denial one caller asks at a time. Each caller that is granted at once, without a wait for a release, lets
// four times as many ask.
func TestHowManyAskAfterADenial(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a := p.join(permit("x", 100))
	p.turn(a)
	p.failed(a, errLost, true)
	var waiters []*waitqueue.Waiter
	for range 20 {
		waiters = append(waiters, p.join(permit("x", 100)))
	}
	asking := func() (n int) {
		for _, w := range waiters {
			n += len(w.Wakeups())
		}
		return n
	}
	a.ChooseSlot(nil)
	a.Granted(&waitqueue.Hold{}, p.now, p.now)
	assert.Equal(t, 1, asking(), "it was denied before")
	p.permit(waiters[0])
	assert.Equal(t, 4, asking())
	p.permit(waiters[1])
	assert.Equal(t, 16, asking())
}

// Two callers may be denied at the same time, and both leave.
func TestALeavingCallerGivesTheTurnOn(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b := p.join(permit("x", 1)), p.join(permit("x", 1))
	p.turn(a)
	require.Positive(t, a.ChooseSlot(nil))
	a.Leave()
	p.asks(b, 0)
	assert.Positive(t, b.ChooseSlot(nil), "its slot is free, too")
	b.Leave()
}

func TestOnlyAPausingCallerInheritsWithTheTurn(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 3)))
	assert.False(t, held.hold.PassLease(held, p.now), "there is no waiter")
	asks, tries := p.join(permit("x", 3)), p.join(tryPermit("x", 3))
	p.turn(asks)
	p.turn(tries)
	tries.Pause()
	assert.False(t, held.hold.PassLease(held, p.now), "one asks, and the other does not wait")
	asks.Pause()
	require.Nil(t, asks.Resume())
	assert.False(t, held.hold.PassLease(held, p.now), "it asks again")
	asks.Pause()
	require.True(t, held.hold.PassLease(held, p.now))
	<-asks.Nudges()
	assert.False(t, held.hold.PassLease(held, p.now), "it has a lease")
	assert.Same(t, held, asks.Resume())
	asks.Inherited(&waitqueue.Hold{})
	tries.Leave()
}

func TestAReleaseNudgesOneCaller(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	one, two := p.permit(p.join(permit("x", 9))), p.permit(p.join(permit("x", 9)))
	quiet, tries := p.join(permit("x", 9)), p.join(tryPermit("x", 9))
	a, b := p.join(permit("x", 9)), p.join(permit("x", 9))
	for _, w := range []*waitqueue.Waiter{quiet, tries, a, b} {
		p.turn(w)
	}
	for _, w := range []*waitqueue.Waiter{tries, a, b} {
		w.ChooseSlot(nil)
	}
	one.hold.Released(p.now, false)
	assert.Empty(t, quiet.Nudges(), "it has not asked yet")
	assert.Empty(t, tries.Nudges(), "a TryLock asks once")
	assert.Len(t, a.Nudges(), 1)
	assert.Empty(t, b.Nudges())
	two.hold.Released(p.now, false)
	assert.Len(t, b.Nudges(), 1, "the first one has its nudge")
}

func TestAPoolYieldsOnlyIfOthersListen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		subscribers int
		listens     bool
		yields      bool
	}{{0, false, false}, {1, false, true}, {1, true, false}, {2, true, true}} {
		p := newProcess(t)
		held := p.permit(p.join(permit("x", 1)))
		w := p.join(permit("x", 1))
		if tt.listens {
			w.Listen()
		}
		held.hold.Published(tt.subscribers, p.now)
		held.hold.Released(p.now, false)
		turn := p.turn(w)
		assert.Equal(t, tt.yields, turn.Delay > 0, "%+v", tt)
		assert.LessOrEqual(t, turn.Delay, time.Minute)
		w.Leave()
		tries := p.join(tryPermit("x", 1))
		p.asks(tries, 0)
		tries.Leave()
	}
}

// wanted has callers hold all slots of a semaphore for 40 ms, and another one wait.
func wanted(p *process, slots int) (held []*lock, waiter *waitqueue.Waiter) {
	p.t.Helper()
	for range slots {
		held = append(held, p.permit(p.join(permit("x", slots))))
	}
	waiter = p.join(permit("x", slots))
	waiter.Listen()
	p.now = p.now.Add(40 * time.Millisecond)
	return held, waiter
}

// While other processes wait, a process takes its share of the slots at once, and leaves the others to them.
func TestAProcessTakesItsShareAtOnce(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	var held []*lock
	for range 4 {
		held = append(held, p.permit(p.join(permit("x", 5))))
	}
	a, b, c := p.join(permit("x", 5)), p.join(permit("x", 5)), p.join(permit("x", 5))
	p.turn(a)
	a.Listen()
	a.ChooseSlot(nil)
	a.RefuseSlot()
	p.failed(a, errHeld, true)
	a.Pause()
	p.now = p.now.Add(40 * time.Millisecond)
	held[0].hold.Published(2, p.now) // one of them this process, so each has a share of two
	for _, l := range held[:2] {
		l.hold.Released(p.now, false)
		require.Empty(t, a.Nudges(), "it would be the third or fourth")
	}
	held[2].hold.Released(p.now, false)
	require.Len(t, a.Nudges(), 1, "it need not wait for the message")

	var granted waitqueue.Hold
	a.Resume()
	a.ChooseSlot(nil)
	a.Granted(&granted, p.now, p.now)
	require.Equal(t, 40*time.Millisecond, p.turn(b).Delay, "it would be the third")
	require.Empty(t, b.Nudges())
	held[3].hold.Released(p.now, false)
	require.Len(t, b.Nudges(), 1, "it is the second now")
	require.False(t, hasTurn(c))
}

// A nudge is not lost if its receiver needs none any more.
func TestEachCallerInTheShareIsWoken(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, _ := wanted(p, 8)
	held[0].hold.Published(2, p.now)
	for _, l := range held[:4] {
		l.hold.Released(p.now, false)
	}
	callers := []*waitqueue.Waiter{p.join(permit("x", 8)), p.join(permit("x", 8)), p.join(permit("x", 8))}
	for i, w := range callers {
		require.Positive(t, p.turn(w).Delay, i)
	}
	held[4].hold.Released(p.now, false)
	held[5].hold.Released(p.now, false)
	assert.Len(t, callers[0].Nudges(), 1)
	<-callers[0].Nudges()
	held[6].hold.Released(p.now, false)
	assert.Len(t, callers[1].Nudges(), 1)
	assert.Empty(t, callers[2].Nudges())
	assert.Empty(t, callers[0].Nudges(), "it was woken")
	callers[0].Leave()
	assert.Len(t, callers[2].Nudges(), 1)
}

// A caller to which a permit is passed asks no more.
func TestAPassedPermitLetsTheNextCallerAsk(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, first := wanted(p, 8)
	held[0].hold.Published(2, p.now)
	for _, l := range held[:5] {
		l.hold.Released(p.now, false)
	}
	next := p.join(permit("x", 8))
	require.Positive(t, p.turn(first).Delay)
	require.Positive(t, p.turn(next).Delay)
	<-first.Nudges()
	first.ChooseSlot(nil)
	first.RefuseSlot()
	p.failed(first, errHeld, true)
	first.Pause()
	require.Empty(t, next.Nudges())
	require.True(t, held[5].hold.PassLease(held[5], p.now))
	assert.Len(t, next.Nudges(), 1)
}

func TestSharesAreEqual(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ slots, others, share int }{
		{8, 0, 8}, {8, 1, 4}, {8, 3, 2}, {8, 4, 1}, {8, 7, 1}, {8, 8, 0}, {1, 1, 0}, {3, 1, 1},
	} {
		p := newProcess(t)
		held, first := wanted(p, tt.slots)
		for _, l := range held {
			l.hold.Published(1+tt.others, p.now)
			l.hold.Released(p.now, false)
		}
		atOnce := 0
		if p.turn(first).Delay == 0 || len(first.Nudges()) > 0 {
			atOnce++
		}
		for range tt.slots - 1 {
			if p.turn(p.join(permit("x", tt.slots))).Delay == 0 {
				atOnce++
			}
		}
		assert.Equal(t, tt.share, atOnce, "%+v", tt)
	}
}

// The other processes count this one only while it waits. Otherwise two that take turns would keep a third one out.
func TestAProcessThatDoesNotWaitHasNoShare(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 8)))
	p.now = p.now.Add(40 * time.Millisecond)
	held.hold.Published(1, p.now)
	held.hold.Released(p.now, false)
	assert.Equal(t, 40*time.Millisecond, p.turn(p.join(permit("x", 8))).Delay)
}

// Each release begins another cooldown, also before its message was counted.
func TestAPoolYieldsAfterEachRelease(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, _ := wanted(p, 2)
	held[0].hold.Published(2, p.now)
	held[0].hold.Released(p.now, false)
	p.now = p.now.Add(time.Second)
	held[1].hold.Released(p.now, false)
	assert.Equal(t, 50*time.Millisecond, p.turn(p.join(permit("x", 2))).Delay)
}

func TestNoCallerYieldsWhenNoOtherProcessWaits(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, w := wanted(p, 2)
	held[0].hold.Published(3, p.now)
	held[0].hold.Released(p.now, false)
	require.Positive(t, p.turn(w).Delay)
	held[0].hold.Published(1, p.now) // by this process alone
	assert.Len(t, w.Nudges(), 1)
}

func TestACallerThatYieldsInherits(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, w := wanted(p, 2)
	held[0].hold.Published(3, p.now)
	held[0].hold.Released(p.now, false)
	require.Positive(t, p.turn(w).Delay)
	require.True(t, held[1].hold.PassLease(held[1], p.now))
	assert.Len(t, w.Nudges(), 1)
	assert.Same(t, held[1], w.Resume())
}
