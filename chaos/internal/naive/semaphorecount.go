package naive

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// semaphoreCount is a semaphore over a quorum with one permit, so it should be a lock. Every master counts the holders.
//
// The count does not say whose permits it counts: a client that was refused releases on every master, as Redlock
// requires, and so releases the holder's permit. Tokens fixed this (see semaphoreTokens).
var semaphoreCount = Control{
	Name: "semaphore-count", Doc: "semaphore of one permit, counted by each of several masters", Modes: mutex,
	Checker: exclusion, How: "one is refused while another holds: its release gives back the other's permit",
	open: onSeveral(
		func(ctx context.Context, m *redis.Client, r locker.Request) (bool, error) {
			return enter.Run(ctx, m, r.Names, 1, r.TTL.Milliseconds()).Bool()
		},
		func(ctx context.Context, m *redis.Client, r locker.Request) error {
			return leave.Run(ctx, m, r.Names).Err()
		},
	),
}

var (
	enter = redis.NewScript(`
if tonumber(redis.call('GET', KEYS[1]) or '0') >= tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)
	leave = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('DECR', KEYS[1]) <= 0 then redis.call('DEL', KEYS[1]) end
return 1`)
)
