package naive

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// claim is one acquisition of a lock on one master, the first of the settings.
type claim struct {
	client
	locker.Request
	master *redis.Client
	token  string    // unique and random
	begin  time.Time // when the master was last asked; the lock ends a TTL later
}

// A step of a claim reports whether the lock was granted.
type step func(ctx context.Context, c *claim) (bool, error)

// single is a lock on one master. take asks for it once, and give releases it.
type single struct {
	client
	take step
	give func(context.Context, *claim) error
}

// onOne returns a function that opens a lock on one master.
func onOne(take step, give func(context.Context, *claim) error) func(locker.Settings) (locker.Locker, error) {
	return func(s locker.Settings) (locker.Locker, error) {
		c, err := dial(s)
		return single{c, take, give}, err
	}
}

func (l single) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	c := &claim{client: l.client, Request: r, master: l.masters[0], token: l.Owner + ":" + rand.Text()}
	err := wait(ctx, r, func(ctx context.Context) (bool, error) {
		c.begin = l.Clock.Now()
		return l.take(ctx, c)
	})
	if err != nil {
		return nil, err
	}
	return &hold{c.token, c.begin.Add(c.TTL), func(ctx context.Context) error { return l.give(ctx, c) }}, nil
}

// del releases with DEL, no matter who has the key.
func del(ctx context.Context, c *claim) error { return c.master.Del(ctx, c.Name()).Err() }

// existsSet checks with EXISTS that the key is free, takes it with SET, and releases it with DEL.
//
// Two clients may both see a free key before either sets it, and then both hold. The fix was a command that checks and
// sets in one step, SETNX: see setNX.
var existsSet = Control{
	"exists-set", "EXISTS, then SET; DEL unlocks", mutex, exclusion,
	onOne(func(ctx context.Context, c *claim) (bool, error) {
		taken, err := c.master.Exists(ctx, c.Name()).Result()
		if err != nil || taken > 0 {
			return false, err
		}
		c.Between()
		return true, c.master.Set(ctx, c.Name(), c.token, c.TTL).Err()
	}, del),
}

// setNX takes the key with SETNX, which checks and sets in one step, and releases it with DEL. The key has no TTL.
//
// If the holder dies, the name stays locked forever. The fix was a TTL, which at first a second command set: see
// setNXExpire.
var setNX = Control{
	"setnx", "SETNX without a TTL; DEL unlocks", mutex, liveness,
	onOne(func(ctx context.Context, c *claim) (bool, error) {
		c.TTL = forever
		return c.master.SetNX(ctx, c.Name(), c.token, 0).Result()
	}, del),
}

// setNXExpire is the lock of a thousand tutorials: SETNX takes it, EXPIRE sets its TTL, DEL releases it.
//
// It has two flaws. If a holder dies between SETNX and EXPIRE, the name stays locked forever. And DEL does not check
// whose lock it deletes, so a holder that unlocks after its TTL lets a third one in while the second holds. The fix for
// the first flaw was a script with both commands, later SET NX PX: see plainDel. The second flaw stayed.
var setNXExpire = Control{
	SetNXExpire, "SETNX, then EXPIRE; DEL unlocks", mutex, liveness,
	onOne(func(ctx context.Context, c *claim) (bool, error) {
		won, err := c.master.SetNX(ctx, c.Name(), c.token, 0).Result()
		if err != nil || !won {
			return false, err
		}
		c.Between()
		return true, c.master.PExpire(ctx, c.Name(), c.TTL).Err()
	}, del),
}

// SetNXExpire is the name of the lock that calls SETNX and then EXPIRE.
const SetNXExpire = "setnx-expire"

// getSet keeps the time at which the lock ends as the value of the key. A client for which that time has passed, by its
// own clock, takes over with GETSET. It has won if GETSET returns the value that it had read before. DEL unlocks.
//
// A dead holder does not block the name forever, and no second command is needed. But the end is a time by the winner's
// clock, which others compare with their own: a client whose clock is ahead takes locks that are held. A client that
// loses a GETSET has overwritten the winner's end with its own. And DEL removes the key of any holder. The fix was a
// TTL that the master measures by its own clock: see plainDel.
var getSet = Control{
	"getset-clock", "SETNX with the end as value, GET and GETSET to take over; DEL unlocks", mutex, exclusion,
	onOne(takeOver, del),
}

func takeOver(ctx context.Context, c *claim) (bool, error) {
	end := strconv.FormatInt(c.begin.Add(c.TTL).UnixMicro(), 10)
	won, err := c.master.SetNX(ctx, c.Name(), end, 0).Result()
	if err != nil || won {
		return won, err
	}
	old, err := c.master.Get(ctx, c.Name()).Result()
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
	was, err := c.master.Do(ctx, "getset", c.Name(), end).Text()
	if errors.Is(err, redis.Nil) {
		return true, nil // it was released, and is ours now
	}
	return was == old, err
}

// plainDel takes the key and sets its TTL in one step, SET NX PX, and releases it with DEL.
//
// The acquisition is correct, the release is not: a holder that unlocks after its TTL deletes the key of the next
// holder, and a third one gets in. The fix was a value that only the holder knows, and a script that deletes the key
// only if it has that value. That is the mutex of this project on one master.
var plainDel = Control{
	"set-px-del", "SET NX PX; plain DEL unlocks", mutex, exclusion,
	onOne(func(ctx context.Context, c *claim) (bool, error) {
		return c.master.SetNX(ctx, c.Name(), c.token, c.TTL).Result() // goes out as SET NX PX
	}, del),
}

// failover is the correct lock on one master (SET NX PX with a random value that is compared before the key is
// deleted), with a replica that takes over when the master does not answer.
//
// Replication is asynchronous: the master answers before the replica knows. The replica does not have a lock that the
// master granted just before it failed, and grants it a second time. A master that only seemed dead continues to grant
// locks while the replica does so too. The fix was a majority of independent masters.
var failover = Control{
	"failover", "SET NX PX and compared release, on a master with an asynchronous replica (the second URL)", mutex,
	exclusion,
	func(s locker.Settings) (locker.Locker, error) {
		if len(s.URLs) < 2 {
			return nil, errors.New("failover takes two URLs: the master's and its replica's")
		}
		s.Timeout = cmp.Or(s.Timeout, downAfter)
		p := &pair{}
		return onOne(
			func(ctx context.Context, c *claim) (won bool, err error) {
				return won, p.ask(ctx, c, func(ctx context.Context, m *redis.Client) error {
					won, err = m.SetNX(ctx, c.Name(), c.token, c.TTL).Result()
					return err
				})
			},
			func(ctx context.Context, c *claim) error {
				return p.ask(ctx, c, func(ctx context.Context, m *redis.Client) error {
					return removeOwn.Run(ctx, m, []string{c.Name()}, c.token).Err()
				})
			},
		)(s)
	},
}

// downAfter is the default for how long a master must be silent to count as failed. A master whose process has ended
// refuses connections and counts as failed at once.
const downAfter = time.Second

// pair is a master and its replica. It has turned once the master has failed to answer.
type pair struct{ turned atomic.Bool }

var removeOwn = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

// ask asks the master, or the replica once the pair has turned.
func (p *pair) ask(ctx context.Context, c *claim, do func(context.Context, *redis.Client) error) error {
	replica := c.masters[1]
	if !p.turned.Load() {
		one, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		err := do(one, c.master)
		if err == nil || ctx.Err() != nil { // it answers, or the caller has given up
			return err
		}
		p.turned.Store(true)
		replica.Do(ctx, "REPLICAOF", "NO", "ONE") // as a sentinel would; a server that is no replica needs none of it
	}
	return do(ctx, replica)
}

// rwTwoKeys is a read/write lock of two keys on one master, one for readers and one for the writer, changed by scripts
// that read both.
//
// All readers share one key and one TTL. The first reader that unlocks deletes the key, and a writer gets in while the
// others still read. On a Redis Cluster the two keys may be on different shards, which no script spans. The fix was one
// key that lists every reader, each with its own end: see rwOneHash for half of it.
var rwTwoKeys = Control{
	"rw-two-keys", "read/write lock of two keys and Lua on one master", readers, exclusion,
	onOne(
		func(ctx context.Context, c *claim) (bool, error) {
			script := writeTwoKeys
			if c.Reads() {
				script = readTwoKeys
			}
			keys := []string{c.Name() + readersKey, c.Name() + writerKey}
			return script.Run(ctx, c.master, keys, c.token, c.TTL.Milliseconds()).Bool()
		},
		func(ctx context.Context, c *claim) error {
			if c.Reads() {
				return c.master.Del(ctx, c.Name()+readersKey).Err()
			}
			return removeOwn.Run(ctx, c.master, []string{c.Name() + writerKey}, c.token).Err()
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

// rwOneHash is a read/write lock in one hash, so that it is on one shard of a cluster. The hash has the mode (readers
// or a writer), the number of holders, and the time at which the lock ends, by the clients' clocks.
//
// All readers share one end, which the last reader sets. If it has a shorter TTL or a slow clock, it ends the lock of
// the readers before it. For a client whose clock is ahead, every lock has ended. The count does not say whose holds it
// counts, so a holder that unlocks after its end removes another's hold. The fix was a hash with a field for each
// reader, each with an end by the master's clock. That is the read/write lock of this project.
var rwOneHash = Control{
	"rw-one-hash", "read/write lock of one hash with the clients' timestamps", readers, exclusion,
	onOne(
		func(ctx context.Context, c *claim) (bool, error) {
			mode := "write"
			if c.Reads() {
				mode = "read"
			}
			now, end := c.begin.UnixMilli(), c.begin.Add(c.TTL).UnixMilli()
			return enterHash.Run(ctx, c.master, c.Names, now, end, mode).Bool()
		},
		func(ctx context.Context, c *claim) error { return leaveHash.Run(ctx, c.master, c.Names).Err() },
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
