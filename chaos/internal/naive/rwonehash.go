package naive

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// rwOneHash is a read/write lock in one hash, so that it is on one shard of a cluster. The hash has the mode (readers
// or a writer), the number of holders, and the time at which the lock ends, by the clients' clocks.
//
// All readers share one end, which the last reader sets. If it has a shorter TTL or a slow clock, it ends the lock of
// the readers before it. For a client whose clock is ahead, every lock has ended. The count does not say whose holds it
// counts, so a holder that unlocks after its end removes another's hold. The fix was a hash with a field for each
// reader, each with an end by the master's clock. That is the read/write lock of this project.
var rwOneHash = Control{
	Name:    "rw-one-hash",
	Doc:     "read/write lock of one hash with the clients' timestamps",
	Modes:   readers,
	Checker: exclusion,
	How:     "a reader whose clock is slow by more than the TTL ends the others' locks; or a holder unlocks after its end",
	open: onOne(
		func(ctx context.Context, c *claim) (bool, error) {
			mode := "write"
			if c.Reads() {
				mode = "read"
			}
			now, end := c.begin.UnixMilli(), c.begin.Add(c.TTL).UnixMilli()
			return enterHash.Run(ctx, c.client, c.Names, now, end, mode).Bool()
		},
		func(ctx context.Context, c *claim) error { return leaveHash.Run(ctx, c.client, c.Names).Err() },
	),
}

var (
	enterHash = redis.NewScript(`
local now, ends, mode = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local is, held = redis.call('HGET', KEYS[1], 'mode'), tonumber(redis.call('HGET', KEYS[1], 'until') or '0')
if is and held > now then
  if mode == 'write' or is == 'write' then return 0 end
else
  redis.call('DEL', KEYS[1])
end
redis.call('HSET', KEYS[1], 'mode', mode, 'until', ends)
redis.call('HINCRBY', KEYS[1], 'count', 1)
return 1`)
	leaveHash = redis.NewScript(`
if redis.call('HINCRBY', KEYS[1], 'count', -1) <= 0 then redis.call('DEL', KEYS[1]) end
return 1`)
)
