package naive

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// A vote asks one master, and reports whether it agrees. The token is unique to the acquisition.
type vote func(ctx context.Context, master *redis.Client, r locker.Request, token string) (bool, error)

// several is a lock over a quorum. It follows Redlock: ask all masters, each with a short timeout; hold with a majority
// and validity left; release on all masters otherwise.
type several struct {
	client
	// take asks a master for the lock, and give has it release the lock.
	take, give vote
}

// onSeveral returns a function that opens a lock over a quorum.
func onSeveral(take, give vote) func(locker.Settings) (locker.Locker, error) {
	return func(s locker.Settings) (locker.Locker, error) {
		c, err := dial(s)
		return several{c, take, give}, err
	}
}

func (l several) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	token := l.Owner + ":" + rand.Text()
	var until time.Time
	err := wait(ctx, r, func(ctx context.Context) (bool, error) {
		until = l.Clock.Now().Add(r.TTL - r.TTL/100 - 2*time.Millisecond)
		if l.agree(ctx, l.take, r, token) && l.Clock.Now().Before(until) {
			return true, nil
		}
		l.agree(ctx, l.give, r, token) // also those that refused
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	return &hold{token, until, func(ctx context.Context) error {
		if !l.agree(ctx, l.give, r, token) {
			return errors.New("too few masters confirmed the release")
		}
		return nil
	}}, nil
}

// agree asks all masters at once, and reports whether a majority agrees.
func (l several) agree(ctx context.Context, ask vote, r locker.Request, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	var agreed atomic.Int32
	var asked sync.WaitGroup
	for _, m := range l.masters {
		asked.Go(func() {
			if ok, err := ask(ctx, m, r, token); ok && err == nil {
				agreed.Add(1)
			}
		})
	}
	asked.Wait()
	return int(agreed.Load()) > len(l.masters)/2
}

// reentrantCount is the reentrant lock of one master (a hash of owner and count) carried over to a quorum: every master
// counts the holds of the owner separately, and a hold adds one on a majority.
//
// The counts drift apart. Redlock releases on all masters, also on one that never got the hold, and there the release
// removes another hold of the owner. If an owner has two holds over different majorities and releases one of them, the
// other is left on a minority. The fix was a token for each hold: then a second release, or one on a master that never
// had the hold, changes nothing. That is the reentrant lock of this project.
//
// It takes masters that are cut off and keep their data. Frozen ones only answer late, and rarely show the flaw.
var reentrantCount = Control{
	"reentrant-count", "reentrant lock with a count per owner on each of several masters",
	[]string{kinds.Reentrant},
	exclusion,
	onSeveral(
		func(ctx context.Context, m *redis.Client, r locker.Request, _ string) (bool, error) {
			return countIn.Run(ctx, m, r.Names, r.Owner, r.TTL.Milliseconds()).Bool()
		},
		func(ctx context.Context, m *redis.Client, r locker.Request, _ string) (bool, error) {
			return true, countOut.Run(ctx, m, r.Names, r.Owner).Err()
		},
	),
}

var (
	countIn = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)
	countOut = redis.NewScript(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) <= 0 then redis.call('DEL', KEYS[1]) end
return 1`)
)

// semaphoreCount is a semaphore over a quorum with one permit, so it should be a lock. Every master counts the holders.
//
// The count does not say whose permits it counts: a client that was refused releases on every master, as Redlock
// requires, and so releases the holder's permit. Tokens fixed this (see semaphoreTokens).
var semaphoreCount = Control{
	"semaphore-count", "semaphore of one permit, counted by each of several masters", mutex, exclusion,
	onSeveral(
		func(ctx context.Context, m *redis.Client, r locker.Request, _ string) (bool, error) {
			return enter.Run(ctx, m, r.Names, 1, r.TTL.Milliseconds()).Bool()
		},
		func(ctx context.Context, m *redis.Client, r locker.Request, _ string) (bool, error) {
			return true, leave.Run(ctx, m, r.Names).Err()
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

// semaphoreTokens is a semaphore over a quorum. Every master keeps the tokens of its holders with their deadlines, and
// admits as many as there are slots. A client holds with a majority of the masters.
//
// The tokens repair semaphoreCount: a refused client gives back only its own permits. But each master admits n holders,
// so m masters have m*n votes, enough for more than n majorities: with three masters and two slots, A gets in on
// masters 1 and 2, B on 2 and 3, C on 1 and 3. What fixed that are slots: a majority grants each to one holder.
var semaphoreTokens = Control{
	"semaphore-tokens", "semaphore, of which each of several masters counts the tokens", permits, slots,
	onSeveral(
		func(ctx context.Context, m *redis.Client, r locker.Request, token string) (bool, error) {
			return admit.Run(ctx, m, r.Names, r.Slots, r.TTL.Milliseconds(), token).Bool()
		},
		func(ctx context.Context, m *redis.Client, r locker.Request, token string) (bool, error) {
			return true, m.ZRem(ctx, r.Name(), token).Err()
		},
	),
}

var admit = redis.NewScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)
