package naive

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// existsSet checks with EXISTS that the key is free, takes it with SET, and releases it with DEL.
//
// Two clients may both see a free key before either sets it, and then both hold. The fix was a command that checks and
// sets in one step, SETNX: see setNX.
var existsSet = Control{
	Name: "exists-set", Doc: "EXISTS, then SET; DEL unlocks", Modes: mutex,
	Checker: exclusion, How: "several contend for one name: two see it free between each other's EXISTS and SET",
	open: func(s locker.Settings) (locker.Locker, error) {
		o, err := openOne(s)
		return existsSetLocker{o}, err
	},
}

type existsSetLocker struct{ one }

func (l existsSetLocker) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	token := l.token()
	begin := l.Clock.Now()
	err := wait(ctx, r, func(ctx context.Context) (bool, error) {
		taken, err := l.client.Exists(ctx, r.Name()).Result()
		if err != nil || taken > 0 {
			return false, err
		}
		l.Between()
		begin = l.Clock.Now()
		return true, l.client.Set(ctx, r.Name(), token, r.TTL).Err()
	})
	if err != nil {
		return nil, err
	}
	return &hold{
		token,
		begin.Add(r.TTL),
		func(ctx context.Context) error { return l.client.Del(ctx, r.Name()).Err() },
	}, nil
}
