package waitqueue

import (
	"maps"
	"time"
)

// yields records until when this process yields a lock: until then it does not ask for the lock, so that other
// processes that waited for it can acquire it.
type yields struct {
	until   map[Key]time.Time
	sweepAt time.Time // when sweep removes the locks whose time has passed again
}

// minSweep is the number of locks up to which sweep removes none.
const minSweep = 64

// set sets the time until which a lock is yielded.
func (y *yields) set(key Key, until, now time.Time) {
	y.sweep(now)
	if y.until == nil {
		y.until = make(map[Key]time.Time)
	}
	y.until[key] = until
}

// sweep removes the locks whose time has passed. A lock is yielded for at most maxCooldown, so it remains for at most
// two sweeps, and the cost of sweep is constant on average.
func (y *yields) sweep(now time.Time) {
	if len(y.until) <= minSweep || now.Before(y.sweepAt) {
		return
	}
	maps.DeleteFunc(y.until, func(_ Key, t time.Time) bool { return !t.After(now) })
	if len(y.until) == 0 {
		y.until = nil // a map does not shrink
	}
	y.sweepAt = now.Add(maxCooldown)
}

func (y *yields) clear(key Key) { delete(y.until, key) }

// remaining returns for how long a lock is still yielded. It calls now only if some lock may be yielded.
func (y *yields) remaining(key Key, now func() time.Time) time.Duration {
	if len(y.until) == 0 {
		return 0
	}
	at := now()
	y.sweep(at)
	return max(0, y.until[key].Sub(at))
}
