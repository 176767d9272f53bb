package clock

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// An Alarm calls one function at the earliest of the requested times. The function must find out what is due, and
// request the next time. A request for a later time than the pending one sets no timer. So a queue to which entries are
// added in the order of their deadlines sets a timer only after each call, not for each entry.
type Alarm struct {
	clock  Clock
	origin time.Time // from which at is counted
	ring   func()

	// at is the time of the pending call; none: no call is pending. It changes with mu held. By reads it without: if By
	// still finds a call pending, ring has not begun, and will find what the caller of By wants done.
	at atomic.Int64

	mu      sync.Mutex
	timer   Timer
	stopped bool
	ringing sync.WaitGroup
}

const none = math.MaxInt64

// NewAlarm returns an Alarm that calls ring in a new goroutine.
func NewAlarm(c Clock, ring func()) *Alarm {
	a := &Alarm{clock: c, origin: c.Now(), ring: ring}
	a.at.Store(none)
	return a
}

// By requests a call at t or earlier. The function may be called when nothing is due.
func (a *Alarm) By(t time.Time) {
	if at := int64(t.Sub(a.origin)); at < a.at.Load() {
		a.set(at, t)
	}
}

func (a *Alarm) set(at int64, t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped || at >= a.at.Load() {
		return
	}
	a.at.Store(at)
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
	a.at.Store(none)
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
