package naive

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// setNX takes the key with SETNX, which checks and sets in one step, and releases it with DEL. The key has no TTL.
//
// If the holder dies, the name stays locked forever. The fix was a TTL, which at first a second command set: see
// setNXExpire.
var setNX = Control{
	Name: "setnx", Doc: "SETNX without a TTL; DEL unlocks", Modes: mutex,
	Checker: liveness, How: "a holder is killed: no client ever gets the name again",
	open: func(s locker.Settings) (locker.Locker, error) {
		o, err := openOne(s)
		return setNXLocker{o}, err
	},
}

type setNXLocker struct{ one }

func (l setNXLocker) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	token := l.token()
	err := wait(
		ctx,
		r,
		func(ctx context.Context) (bool, error) { return l.client.SetNX(ctx, r.Name(), token, 0).Result() },
	)
	if err != nil {
		return nil, err
	}
	until := l.Clock.Now().Add(forever)
	return &hold{token, until, func(ctx context.Context) error { return l.client.Del(ctx, r.Name()).Err() }}, nil
}
