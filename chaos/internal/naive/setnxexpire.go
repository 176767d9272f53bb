package naive

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// setNXExpire is the lock of a thousand tutorials: SETNX takes it, EXPIRE sets its TTL, DEL releases it.
//
// It has two flaws. If a holder dies between SETNX and EXPIRE, the name stays locked forever. And DEL does not check
// whose lock it deletes, so a holder that unlocks after its TTL lets a third one in while the second holds. The fix for
// the first flaw was a script with both commands, later SET NX PX: see plainDel. The second flaw stayed.
var setNXExpire = Control{
	Name: SetNXExpire, Doc: "SETNX, then EXPIRE; DEL unlocks", Modes: mutex,
	Checker: liveness, How: "a client is killed between SETNX and EXPIRE: no client ever gets the name again",
	open: func(s locker.Settings) (locker.Locker, error) {
		o, err := openOne(s)
		return setNXExpireLocker{o}, err
	},
}

// SetNXExpire is the name of the lock that calls SETNX and then EXPIRE.
const SetNXExpire = "setnx-expire"

type setNXExpireLocker struct{ one }

func (l setNXExpireLocker) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	token := l.token()
	begin := l.Clock.Now()
	err := wait(ctx, r, func(ctx context.Context) (bool, error) {
		begin = l.Clock.Now() // before EXPIRE is sent, so the key cannot expire before this plus the TTL
		won, err := l.client.SetNX(ctx, r.Name(), token, 0).Result()
		if err != nil || !won {
			return false, err
		}
		l.Between()
		return true, l.client.PExpire(ctx, r.Name(), r.TTL).Err()
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
