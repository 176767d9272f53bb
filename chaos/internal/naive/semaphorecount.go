package naive

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// semaphoreCount is a semaphore over a quorum with one permit, so it should be a lock. Every master counts the holders.
//
// The count does not say whose permits it counts: a client that was refused releases on every master, as Redlock
// requires, and so releases the holder's permit. Tokens fixed this. With more than one permit there is a second flaw:
// two permits on each of five masters are ten votes, enough for three majorities, so three clients hold (see
// [OpenSemaphore]). No fix is known, and this project has no semaphore.
var semaphoreCount = Control{
	Name: "semaphore-count", Doc: "semaphore of one permit, counted by each of several masters", Modes: mutex,
	Checker: exclusion, How: "one is refused while another holds: its release gives back the other's permit",
	open: func(s locker.Settings) (locker.Locker, error) { return OpenSemaphore(s, 1) },
}

// OpenSemaphore opens the counted semaphore with any number of permits.
func OpenSemaphore(s locker.Settings, permits int) (locker.Locker, error) {
	l, err := openSeveral(s)
	if err != nil {
		return nil, err
	}
	l.take = func(ctx context.Context, m *redis.Client, r locker.Request) (bool, error) {
		return enter.Run(ctx, m, r.Names, permits, r.TTL.Milliseconds()).Bool()
	}
	l.give = func(ctx context.Context, m *redis.Client, r locker.Request) error {
		return leave.Run(ctx, m, r.Names).Err()
	}
	return l, nil
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
