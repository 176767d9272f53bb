package naive

import "context"

// setNX takes the key with SETNX, which checks and sets in one step, and releases it with DEL. The key has no TTL.
//
// If the holder dies, the name stays locked forever. The fix was a TTL, which at first a second command set: see
// setNXExpire.
var setNX = Control{
	Name: "setnx", Doc: "SETNX without a TTL; DEL unlocks", Modes: mutex,
	Checker: liveness, How: "a holder is killed: no client ever gets the name again",
	open: onOne(func(ctx context.Context, c *claim) (bool, error) {
		c.TTL = forever
		return c.client.SetNX(ctx, c.Name(), c.token, 0).Result()
	}, del),
}
