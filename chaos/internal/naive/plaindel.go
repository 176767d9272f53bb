package naive

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// plainDel takes the key and sets its TTL in one step, SET NX PX, and releases it with DEL.
//
// The acquisition is correct, the release is not: a holder that unlocks after its TTL deletes the key of the next
// holder, and a third one gets in. The fix was a value that only the holder knows, and a script that deletes the key
// only if it has that value. That is the mutex of this project on one master.
var plainDel = Control{
	Name: "set-px-del", Doc: "SET NX PX; plain DEL unlocks", Modes: mutex,
	Checker: exclusion, How: "a holder unlocks after its TTL, while the second holds: a third one gets in",
	open: func(s locker.Settings) (locker.Locker, error) {
		o, err := openOne(s)
		return plainDelLocker{o}, err
	},
}

type plainDelLocker struct{ one }

func (l plainDelLocker) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	token := l.token()
	begin := l.Clock.Now()
	err := wait(ctx, r, func(ctx context.Context) (bool, error) {
		begin = l.Clock.Now()
		return l.client.SetNX(ctx, r.Name(), token, r.TTL).Result() // goes out as SET NX PX
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
