package naive

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// getSet keeps the time at which the lock ends as the value of the key. A client for which that time has passed, by its
// own clock, takes over with GETSET. It has won if GETSET returns the value that it had read before. DEL unlocks.
//
// A dead holder does not block the name forever, and no second command is needed. But the end is a time by the winner's
// clock, which others compare with their own: a client whose clock is ahead takes locks that are held. A client that
// loses a GETSET has overwritten the winner's end with its own. And DEL removes the key of any holder. The fix was a
// TTL that the master measures by its own clock: see plainDel.
var getSet = Control{
	Name: "getset-clock", Doc: "SETNX with the end as value, GET and GETSET to take over; DEL unlocks", Modes: mutex,
	Checker: exclusion, How: "one client's clock is ahead by more than the TTL; or a holder unlocks after its TTL",
	open: onOne(takeOver, del),
}

func takeOver(ctx context.Context, c *claim) (bool, error) {
	end := strconv.FormatInt(c.begin.Add(c.TTL).UnixMicro(), 10)
	won, err := c.client.SetNX(ctx, c.Name(), end, 0).Result()
	if err != nil || won {
		return won, err
	}
	old, err := c.client.Get(ctx, c.Name()).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil // released since the GET: ask again
	}
	if err != nil {
		return false, err
	}
	ended, err := strconv.ParseInt(old, 10, 64)
	if err != nil || c.begin.UnixMicro() < ended {
		return false, err
	}
	c.Between()
	was, err := c.client.Do(ctx, "getset", c.Name(), end).Text()
	if errors.Is(err, redis.Nil) {
		return true, nil // it was released, and is ours now
	}
	return was == old, err
}
