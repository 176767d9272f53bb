package waitqueue_test

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

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

// More processes than slots: each of the others gets the time that this one had.
func TestTheCooldownOfMoreProcessesThanSlots(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, w := p.wanted(2)
	held[0].hold.Published(6, p.now)
	held[0].hold.Released(p.now, false)
	p.asks(w, 45*time.Millisecond) // three times two of them
}
