package waitqueue

import (
	"maps"
	"time"
)

// cooldown is what the last release of a lock showed: how many other processes wait for the lock, and until when this
// process takes only its share.
type cooldown struct {
	others int
	until  time.Time
}

// beginCooldown begins or prolongs, at from, the cooldown after a cohort that ended at released.
func (q *queue) beginCooldown(c cohort, released, from time.Time) {
	waves := max(1, (q.cooldown.others+q.width-1)/q.width)
	if until := from.Add(c.cooldownFor(released, waves)); until.After(q.cooldown.until) {
		q.cooldown.until = until
	}
}

// cooldowns keeps the cooldown of a lock when its queue is removed, for the lock's next queue.
type cooldowns struct {
	byKey   map[queueKey]cooldown
	sweepAt time.Time // sweep does nothing before
}

// minSweep is the number of cooldowns up to which sweep removes none.
const minSweep = 64

// set records the cooldown of a lock, or forgets it if no other process waited for the lock. now is called only if it
// is needed.
func (c *cooldowns) set(key queueKey, one cooldown, now func() time.Time) {
	if one.others == 0 {
		delete(c.byKey, key)
		return
	}
	c.sweep(now())
	if c.byKey == nil {
		c.byKey = make(map[queueKey]cooldown)
	}
	c.byKey[key] = one
}

// sweep removes the cooldowns that are over. Few last longer than maxCooldown, so about two sweeps look at each, and
// the cost of sweep is constant on average.
func (c *cooldowns) sweep(now time.Time) {
	if len(c.byKey) <= minSweep || now.Before(c.sweepAt) {
		return
	}
	maps.DeleteFunc(c.byKey, func(_ queueKey, one cooldown) bool { return !one.until.After(now) })
	if len(c.byKey) == 0 {
		c.byKey = nil // a map does not shrink
	}
	c.sweepAt = now.Add(maxCooldown)
}

// get returns the cooldown of a lock; the zero cooldown if it is over. now is called only if it is needed.
func (c *cooldowns) get(key queueKey, now func() time.Time) cooldown {
	if len(c.byKey) == 0 {
		return cooldown{}
	}
	at := now()
	c.sweep(at)
	if one := c.byKey[key]; one.until.After(at) {
		return one
	}
	return cooldown{}
}
