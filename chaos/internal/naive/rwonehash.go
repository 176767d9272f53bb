package naive

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// rwOneHash is a read/write lock of one hash, so that it lives on one shard of a cluster: who is in (readers or a
// writer), how many, and until when, by the clocks of the clients.
//
// One end stands for all readers: the last one that came sets it, and one that came with a shorter TTL, or a clock that is
// behind, ends the lock of those that were in before. A client whose clock is ahead finds everything ended. The
// count does not know whose it is, and a holder that unlocks after its end takes another off it. What mended it is a
// hash with a field for every reader, each with an end by the master's clock; that is the read/write lock of this project.
var rwOneHash = Control{
	Name: "rw-one-hash", Doc: "read/write lock of one hash with the clients' timestamps", Modes: readers,
	Checker: exclusion, How: "a reader whose clock is behind by more than the TTL ends the others' locks; or a holder unlocks after its end",
	open: func(s locker.Settings) (locker.Locker, error) {
		o, err := openOne(s)
		return rwOneHashLocker{o}, err
	},
}

type rwOneHashLocker struct{ one }

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

func (l rwOneHashLocker) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	mode := "write"
	if r.Reads() {
		mode = "read"
	}
	begin := l.Clock.Now()
	err := wait(ctx, r, func(ctx context.Context) (bool, error) {
		begin = l.Clock.Now()
		return enterHash.Run(ctx, l.client, r.Names, begin.UnixMilli(), begin.Add(r.TTL).UnixMilli(), mode).Bool()
	})
	if err != nil {
		return nil, err
	}
	return &hold{l.token(), begin.Add(r.TTL), func(ctx context.Context) error {
		return leaveHash.Run(ctx, l.client, r.Names).Err()
	}}, nil
}
