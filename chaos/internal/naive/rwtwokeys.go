package naive

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/locker"
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
	open: func(s locker.Settings) (locker.Locker, error) {
		o, err := openOne(s)
		return rwTwoKeysLocker{o}, err
	},
}

type rwTwoKeysLocker struct{ one }

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

func (l rwTwoKeysLocker) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	keys := []string{r.Name() + ":readers", r.Name() + ":writer"}
	script := writeTwoKeys
	if r.Reads() {
		script = readTwoKeys
	}
	token := l.token()
	begin := l.Clock.Now()
	err := wait(ctx, r, func(ctx context.Context) (bool, error) {
		begin = l.Clock.Now()
		return script.Run(ctx, l.client, keys, token, r.TTL.Milliseconds()).Bool()
	})
	if err != nil {
		return nil, err
	}
	return &hold{token, begin.Add(r.TTL), func(ctx context.Context) error {
		if r.Reads() {
			return l.client.Del(ctx, keys[0]).Err()
		}
		return removeOwn.Run(ctx, l.client, keys[1:], token).Err()
	}}, nil
}
