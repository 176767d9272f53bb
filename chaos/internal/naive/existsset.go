package naive

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// existsSet looks with EXISTS whether the key is free, takes it with SET, and gives it back with DEL.
//
// Between the look and the SET another may have looked, too: both see "free", and both hold. What mended it is a command
// that looks and sets in one step, SETNX: see setNX.
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
	return &hold{token, begin.Add(r.TTL), func(ctx context.Context) error { return l.client.Del(ctx, r.Name()).Err() }}, nil
}
