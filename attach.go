package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/names"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// Attach returns a Lock on a mutex that was acquired elsewhere, given its token. It is for a process that passes its
// lock to a process that it starts, or to its own next run. The token has at most 4,096 bytes. opts apply as in
// [Locker.Lock]; with keepalive, the default, Attach's Lock is extended.
//
// A majority of the masters must hold the token. Attach computes [Lock.Until] from the TTLs that they report, and takes
// off the drift of the time that is left, or of its own TTL if that is longer. It returns [ErrHeld] if a majority
// reports another lock on the name, and [ErrNoQuorum] if no majority answers. Otherwise it returns [ErrLost] if no
// majority holds the token, as when the name is free, or if its TTL is used up. The token of a reader, a writer, a
// reentrant lock or a permit cannot be attached: the result is [ErrHeld], and [HeldError] has the kind.
//
// A master within its restart window does not count, because an extension that did not count either may have restored
// the token there. If the token has a majority only with such masters, Attach returns [ErrNoQuorum].
//
// [WithMinHold] counts from the return of Attach: the masters do not store when the lock was acquired.
//
// [Lock.Fence] returns 0, also with [WithFencing]: the masters do not store which lock got which fencing token. Pass
// the fencing token along with the lock's token.
//
// The two Locks share one token, so a release of one on the masters also ends the other. Their TTLs may differ: an
// extension never shortens the TTL of the keys. The previous holder must use [WithoutKeepalive] or stop extending the
// lock. It must not call Unlock or close its Locker, and it must have exited before its own Until.
func (l *Locker) Attach(ctx context.Context, name, token string, opts ...LockOption) (*Lock, error) {
	target := mutexOf(name)
	cfg, err := l.attachSettings(target, token, opts)
	if err != nil {
		return nil, failed("attach", target.Names, err)
	}
	q := &acquisition{locker: l, cfg: cfg, target: target, call: callAttach, ctx: ctx}
	var lock *Lock
	defer func() {
		if lock == nil { // also if a hook panics
			q.failed(err, 0)
		}
	}()
	q.start()
	lock, err = l.attach(ctx, q, token)
	err = during("attach", target.Names, err)
	return lock, err
}

// attachSettings checks the arguments of a call of Attach and returns its configuration.
func (l *Locker) attachSettings(t kind.Target, token string, opts []LockOption) (*config, error) {
	cfg, err := l.cfg.with(opts)
	if err != nil {
		return nil, err
	}
	if token == "" {
		return nil, errors.New("redlock: the token is empty: pass what Lock.Token returned")
	}
	if kind.IsKept(token) {
		return nil, errors.New("redlock: the token marks a name that stays taken for a minimum hold, after its lock was " +
			"unlocked: pass what Lock.Token returned")
	}
	if err := names.CheckLength("token", token, kind.MaxToken); err != nil {
		return nil, err
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	return cfg, l.checkHashSlots(t, cfg)
}

func (l *Locker) attach(ctx context.Context, q *acquisition, token string) (*Lock, error) {
	cfg, name := q.cfg, q.target.Names[0]
	asked := l.cfg.clock.Now()
	origin := cfg.origin(ctx, q.id, q.target.Kind)
	answers, err := l.read(ctx, name, origin)
	if err != nil {
		return nil, err
	}
	restarted := l.discountRestarted(answers, token, asked)
	need := l.quorum.Majority()
	census := kind.NewCensus(answers).Mutex(token, cfg.ttl)
	left, ok := census.Left(need)
	if !ok {
		if others, ok := census.OthersLeft(need); ok {
			return nil, &HeldError{Name: name, Kind: census.Kind, Retry: max(0, others)}
		}
		hold := fmt.Sprintf("only %d of %d masters hold the token", len(census.TTLs), len(answers))
		if len(restarted) > 0 && len(census.TTLs)+len(restarted) >= need {
			return nil, fmt.Errorf("%w: %s: %w", ErrNoQuorum, hold, quorum.JoinNodeErrors(restarted))
		}
		return nil, fmt.Errorf("%w: %s", ErrLost, hold)
	}
	until := asked.Add(left - cfg.drift.Of(max(left, cfg.ttl)))
	if !until.After(l.cfg.clock.Now()) {
		return nil, fmt.Errorf("%w: its TTL is used up", ErrLost)
	}
	if l.isEnding() {
		return nil, ErrClosed
	}
	c := l.claim(q.target, token, "", cfg)
	ops := traced(c.Ops(), origin)
	lock := q.newLock(c, l.quorum.Import(ops, cfg.termsOf(c.Target.Kind), census.MayHold, until))
	q.acquired(lock, 0)
	lock.schedule()
	return lock, nil
}

// discountRestarted makes the answers of masters that were not trusted when they were asked count for nothing. It
// returns an error for each of them that has the token.
func (l *Locker) discountRestarted(
	answers []quorum.Answer, token string, asked time.Time,
) (restarted []*NodeError) {
	window := l.cfg.window()
	if window <= 0 {
		return nil
	}
	for i := range answers {
		an := &answers[i]
		if !an.Vote.Verdict.Answered() || an.Vote.Server == nil {
			continue
		}
		err := an.Vote.Server.Trusted(window, asked)
		if err == nil {
			continue
		}
		s, _ := kind.StateOf(*an)
		if _, has := s.Holder(token); has {
			restarted = append(restarted, &NodeError{Node: an.Node, Op: "attach", Err: err})
		}
		an.Vote.Verdict, an.Vote.Err = node.Unknown, err
	}
	return restarted
}
