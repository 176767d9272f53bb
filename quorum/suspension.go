package quorum

import (
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// suspensionMeter measures for how long the machine has been suspended in total. A reading may cost system calls, so a
// request reuses one of at most maxAge. An old reading can only shorten the lease: every suspension since then is
// subtracted, even one that ended before the acquire began. When the votes have arrived, a new reading is taken.
type suspensionMeter struct {
	suspender clock.Suspender // nil: the clock cannot report suspensions, and every reading is 0
	clock     clock.Clock
	origin    time.Time
	readAt    atomic.Int64 // when the last reading was taken, in nanoseconds since origin
	last      atomic.Int64 // the last reading, in nanoseconds
}

// maxAge is how old a reading may be to be reused.
const maxAge = time.Second

func newSuspensionMeter(c clock.Clock) *suspensionMeter {
	m := &suspensionMeter{clock: c, origin: c.Now()}
	m.suspender, _ = c.(clock.Suspender)
	m.fresh()
	return m
}

// fresh takes a new reading and returns it.
func (m *suspensionMeter) fresh() time.Duration {
	if m.suspender == nil {
		return 0
	}
	at := m.clock.Now().Sub(m.origin) // before the reading, which must not seem newer than it is
	total := m.suspender.Suspended()
	for last := m.last.Load(); int64(total) > last && !m.last.CompareAndSwap(last, int64(total)); last = m.last.Load() {
	}
	m.readAt.Store(int64(at))
	return total
}

// recent returns a reading that is at most maxAge old at now.
func (m *suspensionMeter) recent(now time.Time) time.Duration {
	if m.suspender == nil {
		return 0
	}
	if now.Sub(m.origin)-time.Duration(m.readAt.Load()) > maxAge {
		return m.fresh()
	}
	return time.Duration(m.last.Load())
}
