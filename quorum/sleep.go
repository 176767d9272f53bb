package quorum

import (
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// sleepMeter tells how long the machine was suspended in all. A reading costs system calls, so that what is done for every
// lock takes one that is at most a second old. The time of the reading before an acquire is what its lease starts from: a
// suspension since then counts, also one that ended before the acquire began.
type sleepMeter struct {
	suspender clock.Suspender // nil: the clock tells nothing, and nothing is known to be missing from it
	clock     clock.Clock
	origin    time.Time
	readAt    atomic.Int64 // nanoseconds since the origin
	last      atomic.Int64 // the reading
}

// oldest is how old a reading may be that is taken for every lock.
const oldest = time.Second

func newSleepMeter(c clock.Clock) *sleepMeter {
	m := &sleepMeter{clock: c, origin: c.Now()}
	m.suspender, _ = c.(clock.Suspender)
	m.fresh()
	return m
}

// fresh reads.
func (m *sleepMeter) fresh() time.Duration {
	if m.suspender == nil {
		return 0
	}
	at := m.clock.Now().Sub(m.origin) // before the reading: it is at least as old as it says
	slept := m.suspender.Suspended()
	for last := m.last.Load(); int64(slept) > last && !m.last.CompareAndSwap(last, int64(slept)); last = m.last.Load() {
	}
	m.readAt.Store(int64(at))
	return slept
}

// recent returns a reading that is at most a second old at now.
func (m *sleepMeter) recent(now time.Time) time.Duration {
	if m.suspender == nil {
		return 0
	}
	if now.Sub(m.origin)-time.Duration(m.readAt.Load()) > oldest {
		return m.fresh()
	}
	return time.Duration(m.last.Load())
}

// Slept returns how long the machine was suspended in all, as far as the clock tells.
func (q *Quorum) Slept() time.Duration { return q.sleep.fresh() }

// wake moves the deadline and the cap earlier by what the machine was suspended since the reading that they rest on. It is
// called with the lease's mutex.
func (l *Lease) wake(slept time.Duration) {
	missed := slept - l.slept
	if missed <= 0 || l.fixed {
		return
	}
	l.slept = slept
	l.until = l.until.Add(-missed)
	if !l.cap.IsZero() {
		l.cap = l.cap.Add(-missed)
	}
}

// Wake takes a fresh reading of how long the machine was suspended into account.
func (l *Lease) Wake() {
	slept := l.q.sleep.fresh()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake(slept)
}
