package naive

import "context"

// existsSet checks with EXISTS that the key is free, takes it with SET, and releases it with DEL.
//
// Two clients may both see a free key before either sets it, and then both hold. The fix was a command that checks and
// sets in one step, SETNX: see setNX.
var existsSet = Control{
	Name: "exists-set", Doc: "EXISTS, then SET; DEL unlocks", Modes: mutex,
	Checker: exclusion, How: "several contend for one name: two see it free between each other's EXISTS and SET",
	open: onOne(func(ctx context.Context, c *claim) (bool, error) {
		taken, err := c.client.Exists(ctx, c.Name()).Result()
		if err != nil || taken > 0 {
			return false, err
		}
		c.Between()
		return true, c.client.Set(ctx, c.Name(), c.token, c.TTL).Err()
	}, del),
}
