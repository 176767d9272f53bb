package waitqueue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

func permit(name string, slots int) waitqueue.Request {
	r := mutex(name)
	r.Kind, r.Width = "semaphore", slots
	return r
}

func hasTurn(w *waitqueue.Waiter) bool { return len(w.Wakeups()) > 0 }

// granted is a waiter that asked for a slot and got it.
func (p *process) permit(w *waitqueue.Waiter) *lock {
	p.t.Helper()
	require.Equal(p.t, waitqueue.Ask, p.turn(w).Action)
	require.Positive(p.t, w.ChooseSlot(nil))
	l := &lock{validity: time.Minute}
	w.Granted(&l.hold, p.now, p.now)
	return l
}

func TestAsManyAskAsThereAreSlots(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b, c := p.join(permit("x", 2)), p.join(permit("x", 2)), p.join(permit("x", 2))
	assert.True(t, hasTurn(a) && hasTurn(b))
	assert.False(t, hasTurn(c), "this process cannot hold more than two")
	one := p.permit(a)
	assert.False(t, hasTurn(c))
	p.permit(b)
	_, err := p.Join(func() waitqueue.Request { r := permit("x", 2); r.Try = true; return r }())
	require.ErrorIs(t, err, errHeld)
	one.hold.Released(p.now, false)
	assert.True(t, hasTurn(c))
}

func TestAfterADenialOneCallerAsksAtATime(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a := p.join(permit("x", 4))
	p.turn(a)
	p.failed(a, errLost, true)
	b, c := p.join(permit("x", 4)), p.join(permit("x", 4))
	assert.False(t, hasTurn(b))
	require.ErrorIs(t, b.Reason(), errLost)
	a.ChooseSlot(nil)
	a.Granted(&waitqueue.Hold{}, p.now, p.now)
	assert.True(t, hasTurn(b))
	assert.False(t, hasTurn(c), "until one is granted at its first attempt")
	p.permit(b)
	assert.True(t, hasTurn(c))
}

func TestCallersOfAProcessChooseDifferentSlots(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	chosen := make(map[int]bool)
	var locks []*lock
	for range 3 {
		w := p.join(permit("x", 3))
		p.turn(w)
		slot := w.ChooseSlot(nil)
		assert.False(t, chosen[slot])
		chosen[slot] = true
		l := &lock{validity: time.Minute}
		w.Granted(&l.hold, p.now, p.now)
		locks = append(locks, l)
	}
	locks[1].hold.Released(p.now, false)
	w := p.join(permit("x", 3))
	p.turn(w)
	assert.Zero(t, w.ChooseSlot([]int{}), "no slot is free")
	slot := w.ChooseSlot([]int{1, 2, 3})
	w.RefuseSlot()
	assert.Equal(t, slot, w.ChooseSlot(nil), "the only one that this process does not use")
	w.Leave()
	again := p.join(permit("x", 3))
	assert.Equal(t, slot, again.ChooseSlot(nil), "a waiter that gives up gives its slot back")
}

func TestAPermitIsPassedToTheOldestWaiter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ pausing, inherits bool }{
		"it pauses":           {pausing: true, inherits: true},
		"it asks the masters": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t)
			held := p.permit(p.join(permit("x", 2)))
			oldest := p.join(permit("x", 2))
			p.turn(oldest)
			p.failed(oldest, errLost, true)
			next := p.join(permit("x", 2))
			if tt.pausing {
				oldest.Pause()
			}
			require.True(t, held.hold.PassLease(held, p.now))
			got := next
			if tt.inherits {
				got = oldest
				<-oldest.Nudges()
				assert.Same(t, held, oldest.Resume())
			} else {
				assert.Equal(t, waitqueue.Inherit, p.turn(next).Action)
			}
			successor := &lock{}
			got.Inherited(&successor.hold)
			last := p.join(permit("x", 2))
			assert.Equal(t, tt.inherits, hasTurn(next), "one of two permits is free")
			assert.False(t, hasTurn(last))
			successor.hold.Released(p.now, false)
		})
	}
}

func TestAReleaseNudgesTheOldestCallerThatWasDenied(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	one, two := p.permit(p.join(permit("x", 4))), p.permit(p.join(permit("x", 4)))
	w := p.join(permit("x", 4))
	p.turn(w)
	w.ChooseSlot(nil)
	one.hold.Released(p.now, false)
	require.Len(t, w.Nudges(), 1, "its request may reach the masters before the release")
	<-w.Nudges()
	w.RefuseSlot()
	p.failed(w, errLost, true)
	w.Listen()
	w.Pause()
	next := p.join(permit("x", 4))
	two.hold.Published(5, p.now)
	two.hold.Released(p.now, false)
	assert.Empty(t, w.Nudges(), "other processes wait, too, and there is no slot for each")
	require.False(t, hasTurn(next))
	require.Nil(t, w.Resume())
	w.Leave()
}

func TestAPassedPermitIsReleasedIfItsWaiterGaveUp(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 1)))
	w, next := p.join(permit("x", 1)), p.join(permit("x", 1))
	require.True(t, held.hold.PassLease(held, p.now))
	w.Leave()
	assert.Equal(t, 1, held.released)
	assert.True(t, hasTurn(next))
}

func TestAPoolYieldsToOtherProcesses(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 1)))
	held.hold.Published(1, p.now)
	held.hold.Released(p.now, false)
	assert.Positive(t, p.turn(p.join(permit("x", 1))).Delay)
}

func TestAPoolListensWhileItHasWaiters(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	w := p.join(permit("x", 1))
	w.Listen()
	assert.Len(t, p.subscriptions, 1)
	assert.NotNil(t, w.Subscription())
	w.Leave()
	assert.Empty(t, p.subscriptions)
}
