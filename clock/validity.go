package clock

import "time"

// Drift is the budget for the difference in speed between the clocks of a client and of the masters, and for the
// coarseness of the masters' expiry. It is the only promise about clocks that a lock asks for: while a TTL runs, no
// clock may gain more than the budget on another. A clock that jumps breaks it.
type Drift struct {
	// Factor is the share of the TTL that may be gained or lost, 0.01 for one percent.
	Factor float64
	// Least is added to it: Redis expires keys to the millisecond, and one more is lost in rounding.
	Least time.Duration
}

// DefaultDrift is the budget of the Redlock page (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/):
// one percent of the TTL, and two milliseconds.
var DefaultDrift = Drift{Factor: 0.01, Least: 2 * time.Millisecond}

// Of returns the budget for a TTL.
func (d Drift) Of(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl)*d.Factor) + d.Least
}

// Validity returns how long a lock may be relied on whose keys were set with ttl, elapsed after the first byte of the
// request went out. Zero or less: the lock is not held, however many masters granted it.
//
// The source is the Redlock page, step 4: "the lock validity time is considered to be the initial validity time minus
// the time elapsed". It leaves the drift to the implementation; here it is always taken off.
func Validity(ttl, elapsed, drift time.Duration) time.Duration {
	return ttl - elapsed - drift
}
