package clock

import "time"

// Drift is the budget for the difference in speed between the clocks of a client and of the masters, and for the
// resolution of the masters' expiry. It is the only assumption about clocks: within one TTL, no clock gains more than
// the budget on another. A clock that jumps violates it.
type Drift struct {
	// Factor is the share of the TTL by which clocks may differ. 0.01 is one percent.
	Factor float64
	// Least is added to that share. It should be at least 1 ms: masters count in whole milliseconds, so a hold of any
	// kind but the mutex may end up to 1 ms early by the master's clock.
	Least time.Duration
}

// DefaultDrift is the budget of the Redlock page
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/): one percent of the TTL, and two
// milliseconds.
var DefaultDrift = Drift{Factor: 0.01, Least: 2 * time.Millisecond}

// Of returns the budget for a TTL.
func (d Drift) Of(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl)*d.Factor) + d.Least
}
