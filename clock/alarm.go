package clock

import (
	"sync"
	"time"
)

// An Alarm calls one function at the earliest of the requested times. The function must find out what is due, and
// request the next time. A request for a later time than the pending one sets no timer. So a queue to which entries are
// added in the order of their deadlines sets a timer only after each call, not for each entry.
type Alarm struct {
	clock Clock
	ring  func()

	mu      sync.Mutex
	timer   Timer
	at      time.Time // the time of the pending call; zero: no call is pending
	stopped bool
	ringing sync.WaitGroup
}

// NewAlarm returns an Alarm that calls ring in a new goroutine.
func NewAlarm(c Clock, ring func()) *Alarm {
	return &Alarm{clock: c, ring: ring}
}

// By requests a call at t or earlier. The function may be called when nothing is due.
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

// Stop ends the alarm and returns when no call of the function is running.
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
