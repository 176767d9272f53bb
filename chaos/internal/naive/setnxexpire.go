package naive

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// setNXExpire is the lock of a thousand tutorials: SETNX takes it, EXPIRE bounds it, DEL gives it back.
//
// Two things are wrong with it. A holder that dies between SETNX and EXPIRE has locked the name for ever. And DEL does
// not look whose lock it removes, so that a holder that comes back after its TTL lets a third one in beside the second.
// What mended the first was a script that did both, later SET NX PX: see plainDel. The second stayed.
var setNXExpire = Control{
	Name: SetNXExpire, Doc: "SETNX, then EXPIRE; DEL unlocks", Modes: mutex,
	Checker: liveness, How: "a client is killed between SETNX and EXPIRE: nobody ever gets the name again",
	open: func(s locker.Settings) (locker.Locker, error) {
		o, err := openOne(s)
		return setNXExpireLocker{o}, err
	},
}

// SetNXExpire is the name of the lock that calls SETNX, and then EXPIRE.
const SetNXExpire = "setnx-expire"

type setNXExpireLocker struct{ one }

func (l setNXExpireLocker) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	token := l.token()
	begin := l.Clock.Now()
	err := wait(ctx, r, func(ctx context.Context) (bool, error) {
		begin = l.Clock.Now() // as modest as can be: the key cannot expire before
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
	return &hold{token, begin.Add(r.TTL), func(ctx context.Context) error { return l.client.Del(ctx, r.Name()).Err() }}, nil
}
