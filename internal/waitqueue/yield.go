package waitqueue

import (
	"maps"
	"time"
)

// yields records for queues that are gone how many other processes waited for the lock, and until when this process
// leaves to them what is beyond its share.
type yields struct {
	of      map[queueKey]courtesy
	sweepAt time.Time // when sweep removes the locks whose time has passed again
}

type courtesy struct {
	others int
	until  time.Time
}

// minSweep is the number of locks up to which sweep removes none.
const minSweep = 64

// set records a lock; with others 0, it forgets the lock.
func (y *yields) set(key queueKey, c courtesy, now func() time.Time) {
	if c.others == 0 {
		delete(y.of, key)
		return
	}
	y.sweep(now())
	if y.of == nil {
		y.of = make(map[queueKey]courtesy)
	}
	y.of[key] = c
}

// sweep removes the locks whose time has passed. A lock is yielded for at most maxCooldown, so it remains for at most
// two sweeps, and the cost of sweep is constant on average.
func (y *yields) sweep(now time.Time) {
	if len(y.of) <= minSweep || now.Before(y.sweepAt) {
		return
	}
	maps.DeleteFunc(y.of, func(_ queueKey, c courtesy) bool { return !c.until.After(now) })
	if len(y.of) == 0 {
		y.of = nil // a map does not shrink
	}
	y.sweepAt = now.Add(maxCooldown)
}

// get returns what is recorded of a lock; the zero courtesy if its time has passed. It calls now only if some lock may
// be yielded.
func (y *yields) get(key queueKey, now func() time.Time) courtesy {
	if len(y.of) == 0 {
		return courtesy{}
	}
	at := now()
	y.sweep(at)
	if c := y.of[key]; c.until.After(at) {
		return c
	}
	return courtesy{}
}
