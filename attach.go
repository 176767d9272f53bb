package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Attach makes a handle on a mutex that was taken elsewhere, with the token that is handed over: by a process that
// starts another, or before a restart. The token has at most 4,096 bytes and must be held by a majority; Until comes from the
// TTLs they vouch for.
// The masters do not know whose fencing token they counted last, so Fence is 0, also with [WithFencing]: hand it over beside
// the token. A free name is [ErrLost], another's is [ErrHeld]. Keepalive and all else as
// the options say. Both handles have one token, and what ends one ends the other's lock: whoever had it before must be
// [WithoutKeepalive] or stop extending it, must not unlock it, and must have exited before its Until, without closing its Locker.
func (l *Locker) Attach(ctx context.Context, name, token string, opts ...LockOption) (*Lock, error) {
	lock, err := l.attach(ctx, name, token, opts)
	return lock, during("attach", name, err)
}

func (l *Locker) attach(ctx context.Context, name, token string, opts []LockOption) (*Lock, error) {
	cfg, err := l.cfg.with(opts)
	if err != nil {
		return nil, err
	}
	if token == "" {
		return nil, errors.New("redlock: the token is empty: pass what Lock.Token returned")
	}
	if err := tooLong("token", token, maxToken); err != nil {
		return nil, err
	}
	if err := mutexOf(name).check(); err != nil {
		return nil, err
	}
	if err := l.placeable(mutexOf(name), cfg); err != nil {
		return nil, err
	}
	slept, asked := l.quorum.Slept(), l.cfg.clock.Now()
	answers, err := l.read(ctx, name)
	if err != nil {
		return nil, err
	}
	need := l.quorum.Majority()
	maybe := make([]bool, len(answers)) // where the token is, or may be
	var ours, others []time.Duration
	var other string // the kind of the others' lock
	for i, an := range answers {
		seen, ok := sightingOf(an)
		mine, isMine := seen.by(token)
		switch {
		case !ok:
			maybe[i] = true
		case seen.kind == "":
		case seen.kind == kindMutex && isMine:
			maybe[i] = true
			if mine.left < 0 { // somebody removed the TTL: rely on no more than one of ours
				mine.left = cfg.ttl
			}
			ours = append(ours, mine.left)
		default:
			others, other = append(others, seen.longest().left), seen.kind
		}
	}
	switch {
	case len(ours) >= need:
	case len(others) >= need:
		return nil, &HeldError{Name: name, Kind: other, Retry: max(0, sureUntil(others, need))}
	default:
		return nil, fmt.Errorf("%w: only %d of %d masters hold the token", ErrLost, len(ours), len(answers))
	}
	left := sureUntil(ours, need)
	until := asked.Add(left - cfg.drift.Of(left) - (l.quorum.Slept() - slept))
	if !until.After(l.cfg.clock.Now()) {
		return nil, fmt.Errorf("%w: its TTL is used up", ErrLost)
	}
	c := l.claim(mutexOf(name), token, "", cfg)
	lease := l.quorum.Adopt(c.ops(), cfg.terms(), maybe, until, 0)
	lock := newLock(ctx, l, c, nil, cfg, lease)
	if !l.keeper.add(lock) {
		return nil, ErrClosed
	}
	return lock, nil
}
