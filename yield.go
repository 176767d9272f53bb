package redlock

import (
	"maps"
	"time"
)

// yields holds until when this Locker leaves names to others, of the names for which somebody outside of it has waited.
// lines.mu guards it.
type yields struct {
	until   map[lineKey]time.Time
	sweepAt int // the number of names at which those whose time has passed are removed
}

// fewNames is how many names are kept without a look at whether their time has passed.
const fewNames = 64

// set notes a time. Removing what has passed takes a constant time for each set, on average: half of the names have been
// set since the last sweep.
func (y *yields) set(key lineKey, until, now time.Time) {
	if y.until == nil {
		y.until = make(map[lineKey]time.Time)
	}
	y.until[key] = until
	if len(y.until) <= max(fewNames, y.sweepAt) {
		return
	}
	maps.DeleteFunc(y.until, func(_ lineKey, t time.Time) bool { return t.Before(now) })
	y.sweepAt = 2 * len(y.until)
}

func (y *yields) clear(key lineKey) { delete(y.until, key) }

// left returns how long a caller leaves its name to others. A TryLock does not wait, and readers are kept out by the intent of
// an exclusive waiter.
func (y *yields) left(w *waiter) time.Duration {
	if w.try || w.target.kind == kindReader || len(y.until) == 0 {
		return 0
	}
	until, ok := y.until[keyOf(w.target)]
	if !ok {
		return 0
	}
	return max(0, until.Sub(w.cfg.clock.Now()))
}
