package clock

import (
	"sync"
	"time"
)

// An Alarm calls one function at the earliest of the times it was asked for. It exists for the hot path: asking for a
// time later than the pending one costs a comparison, not a timer, so a queue whose deadlines grow touches its timer
// once per period instead of once per entry. The function finds out for itself what is due, and asks again.
type Alarm struct {
	clock Clock
	ring  func()

	mu      sync.Mutex
	timer   Timer
	at      time.Time // when the pending call comes; zero: none is pending
	stopped bool
	ringing sync.WaitGroup
}

// NewAlarm returns an Alarm that calls ring in a goroutine of its own, never twice at the same time for one setting.
func NewAlarm(c Clock, ring func()) *Alarm {
	return &Alarm{clock: c, ring: ring}
}

// By makes sure that the function is called at t or earlier. A call may come without anything being due.
func (a *Alarm) By(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped || (!a.at.IsZero() && !t.Before(a.at)) {
		return
	}
	a.at = t
	d := t.Sub(a.clock.Now())
	if a.timer == nil {
		a.timer = a.clock.AfterFunc(d, a.fire)
	} else {
		a.timer.Reset(d)
	}
}

func (a *Alarm) fire() {
	a.mu.Lock()
	if a.stopped {
		a.mu.Unlock()
		return
	}
	a.at = time.Time{}
	a.ringing.Add(1)
	a.mu.Unlock()
	defer a.ringing.Done()
	a.ring()
}

// Stop ends the alarm for good and returns when no call of the function runs any more.
// The function itself must not call it.
func (a *Alarm) Stop() {
	a.mu.Lock()
	a.stopped = true
	if a.timer != nil {
		a.timer.Stop()
	}
	a.mu.Unlock()
	a.ringing.Wait()
}
