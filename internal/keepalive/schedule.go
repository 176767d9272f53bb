// Package keepalive schedules the extensions and the deadlines of held locks.
//
// A [Schedule] handles all locks of one Locker with one heap and one alarm. It has no goroutine while nothing is due,
// so that a Locker can hold 100,000 locks.
package keepalive

import (
	"container/heap"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// Schedule extends locks before they end, expires those that were not extended in time, and clears the residual keys of
// lost locks.
type Schedule struct {
	clock clock.Clock
	alarm *clock.Alarm
	start time.Time
	lead  time.Duration

	mu      sync.Mutex
	entries entryHeap
	closed  bool
}

// New returns an empty Schedule. It expires a lock lead before its Until.
func New(c clock.Clock, lead time.Duration) *Schedule {
	s := &Schedule{clock: c, lead: lead, start: c.Now()}
	s.alarm = clock.NewAlarm(c, s.handleDue)
	return s
}

// Add schedules a lock that was just acquired. e must not be in a Schedule. Add reports false, and does nothing, if the
// Schedule is closed.
func (s *Schedule) Add(e *Entry, lock Lock) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	e.lock = lock
	s.plan(e, lock.TTL()/3)
	heap.Push(&s.entries, e)
	s.wakeBy(e.due)
	return true
}

// Linger schedules Clear of a lost lock for its Until, which must be final, in place of what is scheduled for it. e is
// of a lock that was added. Linger reports false, and does nothing, if Until has passed or the Schedule is closed.
func (s *Schedule) Linger(e *Entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := s.until(e)
	if s.closed || until <= s.now() {
		return false
	}
	e.due, e.renewAt, e.lingering = until, 0, true
	if e.scheduled {
		heap.Fix(&s.entries, int(e.index))
	} else { // it has expired
		heap.Push(&s.entries, e)
	}
	s.wakeBy(e.due)
	return true
}

// Remove removes a lock, if it is scheduled. Afterwards, the Schedule requests no extension of the lock, except
// one that is already due in a handleDue that runs. Calls of the lock's methods that have begun may still be running.
func (s *Schedule) Remove(e *Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.scheduled {
		heap.Remove(&s.entries, int(e.index))
	}
}

// Renewed schedules the next extension of a lock after one ended with err, whether Renew or the holder requested it. A
// failed extension is repeated sooner: masters may answer again before the lock ends.
func (s *Schedule) Renewed(e *Entry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !e.scheduled || e.lingering {
		return
	}
	delay := e.lock.TTL() / 3
	if err != nil {
		delay /= 4
	}
	s.plan(e, delay)
	heap.Fix(&s.entries, int(e.index))
	s.wakeBy(e.due)
}

// Close removes all locks and returns them, the lingering ones included. When it returns, no method of a lock is
// running that the Schedule called. No method of a lock may call Close.
func (s *Schedule) Close() []Lock {
	s.mu.Lock()
	s.closed = true
	locks := make([]Lock, len(s.entries))
	for i, e := range s.entries {
		locks[i] = e.lock
		e.scheduled = false
	}
	s.entries = nil
	s.mu.Unlock()
	s.alarm.Stop()
	return locks
}

// handleDue handles the locks that are due, and sets the alarm for the next one.
func (s *Schedule) handleDue() {
	expired, residual, renew := s.takeDue()
	for _, lock := range expired {
		lock.Expire()
	}
	for _, lock := range residual {
		lock.Clear()
	}
	for _, lock := range renew {
		lock.Renew()
	}
}

// takeDue returns the locks that have expired, the lingering locks to clear, and the locks to extend. Only the last
// remain scheduled.
func (s *Schedule) takeDue() (expired, residual, renew []Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for len(s.entries) > 0 && (s.entries[0].due <= now || s.entries[0].renewDue(now)) {
		e := s.entries[0]
		switch {
		case e.lingering:
			residual = append(residual, e.lock)
			heap.Pop(&s.entries)
			continue
		case e.lock.FreezeIfDue(s.lead):
			expired = append(expired, e.lock)
			heap.Pop(&s.entries)
			continue
		case e.renewDue(now):
			renew = append(renew, e.lock)
			e.renewAt = 0
		}
		e.due = s.until(e) - s.lead
		heap.Fix(&s.entries, 0)
	}
	if len(s.entries) > 0 {
		s.wakeBy(s.entries[0].due)
	}
	return expired, residual, renew
}

// plan schedules the next extension of a lock after delay, or after half of the time that the lock has left if that is
// sooner, each give or take a tenth. Without an extension the lock is due lead before its Until.
func (s *Schedule) plan(e *Entry, delay time.Duration) {
	now, until := s.now(), s.until(e)
	e.renewAt = 0
	if e.lock.Renewable() {
		delay = min(delay, (until-now)/2)
		e.renewAt = now + time.Duration(float64(delay)*(0.9+0.2*rand.Float64()))
	}
	e.due = until - s.lead
	if e.renewAt > 0 && e.renewAt < e.due {
		e.due = e.renewAt
	}
}

// now returns the present time, and until the deadline of a lock, both since start.
func (s *Schedule) now() time.Duration           { return s.clock.Now().Sub(s.start) }
func (s *Schedule) until(e *Entry) time.Duration { return e.lock.Until().Sub(s.start) }

// wakeBy makes handleDue run at the time at, since start, or earlier.
func (s *Schedule) wakeBy(at time.Duration) { s.alarm.By(s.start.Add(at)) }
