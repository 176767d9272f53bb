package naive

import (
	"context"
	"crypto/rand"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// semaphoreTokens is a semaphore over a quorum. Every master keeps the tokens of its holders with their deadlines, and
// admits as many as there are slots. A client holds with a majority of the masters.
//
// The tokens repair semaphoreCount: a refused client gives back only its own permits. But each master admits n holders,
// so m masters have m*n votes, enough for more than n majorities: with three masters and two slots, A gets in on
// masters 1 and 2, B on 2 and 3, C on 1 and 3. What fixed that are slots: a majority grants each to one holder.
var semaphoreTokens = Control{
	Name: "semaphore-tokens", Doc: "semaphore, of which each of several masters counts the tokens", Modes: permits,
	Checker: slots, How: "three clients get two of three masters each, and two slots",
	open: func(s locker.Settings) (locker.Locker, error) {
		l, err := onSeveral(
			func(ctx context.Context, m *redis.Client, r locker.Request) (bool, error) {
				return admit.Run(ctx, m, r.Names, r.Slots, r.TTL.Milliseconds(), r.Owner).Bool()
			},
			func(ctx context.Context, m *redis.Client, r locker.Request) error {
				return m.ZRem(ctx, r.Name(), r.Owner).Err()
			},
		)(s)
		return tokens{l, s.Owner}, err
	},
}

// tokens gives every acquisition a token, in place of an owner.
type tokens struct {
	locker.Locker
	owner string
}

func (l tokens) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	r.Owner = l.owner + ":" + rand.Text()
	return l.Locker.Lock(ctx, r)
}

var admit = redis.NewScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)
