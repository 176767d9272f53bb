package naive

import "context"

// plainDel takes the key and sets its TTL in one step, SET NX PX, and releases it with DEL.
//
// The acquisition is correct, the release is not: a holder that unlocks after its TTL deletes the key of the next
// holder, and a third one gets in. The fix was a value that only the holder knows, and a script that deletes the key
// only if it has that value. That is the mutex of this project on one master.
var plainDel = Control{
	Name: "set-px-del", Doc: "SET NX PX; plain DEL unlocks", Modes: mutex,
	Checker: exclusion, How: "a holder unlocks after its TTL, while the second holds: a third one gets in",
	open: onOne(func(ctx context.Context, c *claim) (bool, error) {
		return c.client.SetNX(ctx, c.Name(), c.token, c.TTL).Result() // goes out as SET NX PX
	}, del),
}
