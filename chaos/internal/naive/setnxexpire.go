package naive

import "context"

// setNXExpire is the lock of a thousand tutorials: SETNX takes it, EXPIRE sets its TTL, DEL releases it.
//
// It has two flaws. If a holder dies between SETNX and EXPIRE, the name stays locked forever. And DEL does not check
// whose lock it deletes, so a holder that unlocks after its TTL lets a third one in while the second holds. The fix for
// the first flaw was a script with both commands, later SET NX PX: see plainDel. The second flaw stayed.
var setNXExpire = Control{
	Name: SetNXExpire, Doc: "SETNX, then EXPIRE; DEL unlocks", Modes: mutex,
	Checker: liveness, How: "a client is killed between SETNX and EXPIRE: no client ever gets the name again",
	open: onOne(func(ctx context.Context, c *claim) (bool, error) {
		won, err := c.client.SetNX(ctx, c.Name(), c.token, 0).Result()
		if err != nil || !won {
			return false, err
		}
		c.Between()
		return true, c.client.PExpire(ctx, c.Name(), c.TTL).Err()
	}, del),
}

// SetNXExpire is the name of the lock that calls SETNX and then EXPIRE.
const SetNXExpire = "setnx-expire"
