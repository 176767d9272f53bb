package redlock

import (
	"maps"
	"time"
)

// yields records until when this Locker yields a name: until then it does not ask for the name, so that other processes
// that waited for it can acquire it. lines.mu guards it.
type yields struct {
	until   map[lineKey]time.Time
	sweepAt int // with more names than this, set removes those whose time has passed
}

// minSweep is the number of names up to which set removes none.
const minSweep = 64

// set sets the time until which the name is yielded. Its cost is constant on average: at every sweep, at least half of
// the names were set since the sweep before.
func (y *yields) set(key lineKey, until, now time.Time) {
	if y.until == nil {
		y.until = make(map[lineKey]time.Time)
	}
	y.until[key] = until
	if len(y.until) <= max(minSweep, y.sweepAt) {
		return
	}
	maps.DeleteFunc(y.until, func(_ lineKey, t time.Time) bool { return t.Before(now) })
	y.sweepAt = 2 * len(y.until)
}

func (y *yields) clear(key lineKey) { delete(y.until, key) }

// wait returns how long a caller must wait until its name is no longer yielded. It is 0 for a TryLock, which does not
// wait, and for a reader, which the intent of an exclusive waiter keeps out.
func (y *yields) wait(w *waiter) time.Duration {
	if w.try || w.target.Kind.KeptOut || len(y.until) == 0 {
		return 0
	}
	until, ok := y.until[keyOf(w.target)]
	if !ok {
		return 0
	}
	return max(0, until.Sub(w.cfg.clock.Now()))
}
