package redlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/names"
)

// Attach returns a Lock on a mutex that was acquired elsewhere, given its token. It is for a process that passes its
// lock to a process that it starts, or to its own next run. The token has at most 4,096 bytes. opts apply as in
// [Locker.Lock]; with keepalive, the default, Attach's Lock is extended.
//
// A majority of the masters must hold the token. Attach computes [Lock.Until] from the TTLs that they report. It
// returns [ErrHeld] if a majority reports another lock on the name, and [ErrNoQuorum] if no majority answers. Otherwise
// it returns [ErrLost] if no majority holds the token, as when the name is free, or if its TTL is used up. The token of
// a reader, a writer or a reentrant lock cannot be attached: the result is [ErrHeld], and [HeldError] has the kind.
//
// [Lock.Fence] returns 0, also with [WithFencing]: the masters do not store which lock got which fencing token. Pass
// the fencing token along with the lock's token.
//
// The two Locks share one token, so a release of one on the masters also ends the other. The previous holder must use
// [WithoutKeepalive] or stop extending the lock. It must not call Unlock or close its Locker, and it must have exited
// before its own Until.
func (l *Locker) Attach(ctx context.Context, name, token string, opts ...LockOption) (*Lock, error) {
	lock, err := l.attach(ctx, name, token, opts)
	return lock, during("attach", []string{name}, err)
}

func (l *Locker) attach(ctx context.Context, name, token string, opts []LockOption) (*Lock, error) {
	cfg, err := l.cfg.with(opts)
	if err != nil {
		return nil, err
	}
	if token == "" {
		return nil, errors.New("redlock: the token is empty: pass what Lock.Token returned")
	}
	if err := names.CheckLength("token", token, kind.MaxToken); err != nil {
		return nil, err
	}
	if err := mutexOf(name).Check(); err != nil {
		return nil, err
	}
	if err := l.checkSlots(mutexOf(name), cfg); err != nil {
		return nil, err
	}
	slept, asked := l.quorum.Suspended(), l.cfg.clock.Now()
	answers, err := l.read(ctx, name)
	if err != nil {
		return nil, err
	}
	need := l.quorum.Majority()
	census := kind.NewCensus(answers).Mutex(token, cfg.ttl)
	left, ok := census.Left(need)
	if !ok {
		if others, ok := census.OthersLeft(need); ok {
			return nil, &HeldError{Name: name, Kind: census.Kind, Retry: max(0, others)}
		}
		return nil, fmt.Errorf("%w: only %d of %d masters hold the token", ErrLost, len(census.TTLs), len(answers))
	}
	until := asked.Add(left - cfg.drift.Of(left) - (l.quorum.Suspended() - slept))
	if !until.After(l.cfg.clock.Now()) {
		return nil, fmt.Errorf("%w: its TTL is used up", ErrLost)
	}
	c := l.claim(mutexOf(name), token, "", cfg)
	lease := l.quorum.Import(c.Ops(), c.Terms, census.Maybe, until, 0)
	lock := newLock(ctx, l, c, cfg, lease)
	if !lock.schedule() {
		return nil, ErrClosed
	}
	return lock, nil
}
