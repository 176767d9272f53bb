package naive

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// rwTwoKeys is a read/write lock of two keys on one master, one for readers and one for the writer, changed by scripts
// that read both.
//
// All readers share one key and one TTL. The first reader that unlocks deletes the key, and a writer gets in while the
// others still read. On a Redis Cluster the two keys may be on different shards, which no script spans. The fix was one
// key that lists every reader, each with its own end: see rwOneHash for half of it.
var rwTwoKeys = Control{
	Name: "rw-two-keys", Doc: "read/write lock of two keys and Lua on one master", Modes: readers,
	Checker: exclusion, How: "one of two readers unlocks: a writer gets in while the other still reads",
	open: onOne(
		func(ctx context.Context, c *claim) (bool, error) {
			script := writeTwoKeys
			if c.Reads() {
				script = readTwoKeys
			}
			keys := []string{c.Name() + readersKey, c.Name() + writerKey}
			return script.Run(ctx, c.client, keys, c.token, c.TTL.Milliseconds()).Bool()
		},
		func(ctx context.Context, c *claim) error {
			if c.Reads() {
				return c.client.Del(ctx, c.Name()+readersKey).Err()
			}
			return removeOwn.Run(ctx, c.client, []string{c.Name() + writerKey}, c.token).Err()
		},
	),
}

const readersKey, writerKey = ":readers", ":writer"

var (
	readTwoKeys = redis.NewScript(`
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)
	writeTwoKeys = redis.NewScript(`
if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1`)
)
