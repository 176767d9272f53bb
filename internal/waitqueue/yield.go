package waitqueue

import (
	"maps"
	"time"
)

// yields records until when this process yields a lock: until then it does not ask for the lock, so that other
// processes that waited for it can acquire it.
type yields struct {
	until   map[Key]time.Time
	sweepAt int // with more locks than this, set removes those whose time has passed
}

// minSweep is the number of locks up to which set removes none.
const minSweep = 64

// set sets the time until which a lock is yielded. Its cost is constant on average: at every sweep, at least half of
// the locks were set since the sweep before.
func (y *yields) set(key Key, until, now time.Time) {
	if y.until == nil {
		y.until = make(map[Key]time.Time)
	}
	y.until[key] = until
	if len(y.until) <= max(minSweep, y.sweepAt) {
		return
	}
	maps.DeleteFunc(y.until, func(_ Key, t time.Time) bool { return t.Before(now) })
	y.sweepAt = 2 * len(y.until)
}

func (y *yields) clear(key Key) { delete(y.until, key) }

// remaining returns for how long a lock is still yielded. It calls now only if the lock may be yielded.
func (y *yields) remaining(key Key, now func() time.Time) time.Duration {
	if len(y.until) == 0 {
		return 0
	}
	until, ok := y.until[key]
	if !ok {
		return 0
	}
	return max(0, until.Sub(now()))
}
