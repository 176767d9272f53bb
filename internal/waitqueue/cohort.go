package waitqueue

import "time"

// A process that holds a lock may pass it among its own callers for some time before it lets other processes have it.
// This is a cohort lock (Dice, Marathe, Shavit: "Lock Cohorting", PPoPP 2012). There are two ways to pass the lock:
//
//   - With its lease. The masters are not asked: to them it remains one lock with one token.
//   - With a silent release, followed at once by the next acquire. A release message would wake every contender, and
//     this process would still be faster than all of them.
//
// A budget bounds how long a process passes a lock among its own callers, in either way. If other processes wait for
// the lock, a cooldown follows, in which this process does not ask for more than its share of it.
const (
	minBudget       = 20 * time.Millisecond
	maxPasses       = 10_000 // bounds the chain of locks along which the result of an extension is passed on
	minCooldown     = time.Millisecond
	maxCooldownWave = 50 * time.Millisecond  // for each wave; see cooldownFor
	maxCooldown     = 150 * time.Millisecond // for all waves; two long rounds may exceed it
)

// Policy is what a waiter allows. A lock has the policy of the waiter that acquired it.
type Policy struct {
	Cohort     bool // pass the lock among the callers of this process
	ReuseLease bool // pass it with its lease; needs Cohort
	TTL        time.Duration
}

// cohort is a sequence of holders of this process that pass the lock on without a release message.
type cohort struct {
	since  time.Duration // when the masters granted the lock to the first holder, counted from epoch
	round  time.Duration // the shortest time that a grant took, an estimate of what it takes another process
	passes int           // how many holders followed the first one
}

// epoch is a time from which others are counted. A time.Duration takes a third of the memory of a time.Time, which
// matters to a process with many locks.
var epoch = time.Now()

// granted returns the cohort of a lock that the masters granted: c with the shorter round, or a new one if c is zero.
func (c cohort) granted(asked, now time.Time) cohort {
	round := now.Sub(asked)
	if c == (cohort{}) {
		return cohort{since: now.Sub(epoch), round: round}
	}
	c.round = min(c.round, round)
	return c
}

// passed returns the cohort of the next holder.
func (c cohort) passed() cohort {
	c.passes++
	return c
}

func (c cohort) age(now time.Time) time.Duration { return now.Sub(epoch) - c.since }

// budget returns how long the cohort may last: long in comparison with a round of requests, and short in comparison
// with the TTL.
func (c cohort) budget(ttl time.Duration) time.Duration {
	return min(ttl/8, max(minBudget, 4*c.round))
}

// cooldownFor returns how long this process takes only its share of the lock after the cohort, if other processes wait.
// They receive the release message, ask one master and then the others, which takes two rounds. On a busy machine they
// may need longer than this process did, and would lose every race. So the cooldown also gives each of them the time
// that the cohort had, within bounds. waves is how often the whole width must become free until each other process has
// had a place: their number divided by the width, rounded up, and at least 1.
func (c cohort) cooldownFor(now time.Time, waves int) time.Duration {
	return max(minCooldown, 2*c.round, min(time.Duration(waves)*min(c.age(now), maxCooldownWave), maxCooldown))
}

// mayKeep reports whether this process may pass a lock to a waiter before other processes can have it.
func (c cohort) mayKeep(from Lock, to Policy, now time.Time) bool {
	return from.Policy().Cohort && to.Cohort && c.passes < maxPasses && c.age(now) < c.budget(from.Policy().TTL)
}

// mayReuseLease reports whether a lock may be passed to a waiter with its lease: mayKeep holds, both policies allow it
// with the same TTL, and more than three quarters of the TTL are left.
func (c cohort) mayReuseLease(from Lock, to Policy, now time.Time) bool {
	p := from.Policy()
	return c.mayKeep(from, to, now) && p.ReuseLease && to.ReuseLease && p.TTL == to.TTL && from.Validity(now) > p.TTL*3/4
}
