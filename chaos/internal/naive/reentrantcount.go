package naive

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// reentrantCount is the reentrant lock of one master (a hash of owner and count) carried over to a quorum: every master
// counts the holds of the owner separately, and a hold adds one on a majority.
//
// The counts drift apart. Redlock releases on all masters, also on one that never got the hold, and there the release
// removes another hold of the owner. If an owner has two holds over different majorities and releases one of them, the
// other is left on a minority. The fix was a token for each hold: then a second release, or one on a master that never
// had the hold, changes nothing. That is the reentrant lock of this project.
var reentrantCount = Control{
	Name:    "reentrant-count",
	Doc:     "reentrant lock with a count per owner on each of several masters",
	Modes:   []string{kinds.Reentrant},
	Checker: exclusion,
	How: "nested holds or two workers of one owner, while masters miss some of them: two of five cut off in turn, " +
		"with their data kept (frozen ones only answer late, and rarely show it)",
	open: onSeveral(
		func(ctx context.Context, m *redis.Client, r locker.Request) (bool, error) {
			return countIn.Run(ctx, m, r.Names, r.Owner, r.TTL.Milliseconds()).Bool()
		},
		func(ctx context.Context, m *redis.Client, r locker.Request) error {
			return countOut.Run(ctx, m, r.Names, r.Owner).Err()
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
