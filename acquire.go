package redlock

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/redlock-go/redlock/quorum"
)

// Lock takes the lock, and waits for it until ctx ends. Callers of one Locker are served in the order they came.
//
// It gives up before ctx does only on what no waiting mends: invalid arguments, [ErrClosed], and, where they leave no
// majority, a wrong password, a missing right, INFO refused, something that is no Redis, the same server twice, names
// of a LockAll that a Cluster keeps apart. Masters that are down, slow, loading, out of memory, replicas, or within
// their restart window it waits for. When ctx ends the error matches ctx.Err() and says what Lock was waiting for:
// [ErrHeld] or [ErrNoQuorum] match too.
//
// On an error nothing is held; whatever was placed is being released, on every master.
func (l *Locker) Lock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return l.lock(ctx, mutexOf(name), false, opts)
}

// TryLock takes the lock if it can be had in one round, and returns [ErrHeld] or [ErrNoQuorum] otherwise. Callers of one
// Locker take turns, and do not overtake those who wait in Lock. Between processes a vote may split and nobody win:
// that is ErrHeld too.
func (l *Locker) TryLock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return l.lock(ctx, mutexOf(name), true, opts)
}

func mutexOf(name string) target { return target{kind: kindMutex, names: []string{name}} }

func (l *Locker) lock(ctx context.Context, t target, try bool, opts []LockOption) (*Lock, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	cfg, err := l.cfg.with(opts)
	if err != nil {
		return nil, err
	}
	if err := l.placeable(t, cfg); err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("redlock: lock %q: not asked: %w", t.title(), err)
	}

	ln, w, err := l.lines.join(t, try)
	if err != nil {
		return nil, err
	}
	a := &attempts{locker: l, cfg: cfg, target: t, line: ln, faults: l.quorum.NewFaults(), began: l.cfg.clock.Now()}
	if t.kind == kindWriter && !try {
		a.intent = newToken(cfg.owner)
	}
	lock, err := a.run(ctx, w)
	if err != nil {
		l.lines.leave(ln, w)
		if a.looked && a.intent != "" {
			l.quorum.Tell(a.claim("").leave(), cfg.timeout())
		}
		return nil, err
	}
	return lock, nil
}

// placeable refuses keys that a Cluster among the masters could not keep in one place.
func (l *Locker) placeable(t target, cfg *config) error {
	if l.cluster == "" || (t.kind == kindMutex && len(t.names) == 1 && !cfg.fencing) {
		return nil
	}
	return oneSlot(l.cluster, t.names)
}

// attempts is one call of Lock or TryLock, of any kind.
type attempts struct {
	locker *Locker
	cfg    *config
	target target
	line   *line
	intent string // of a writer that waits; the same for all its attempts
	looked bool   // what is in the way was asked, and the intent left
	faults *quorum.Faults
	began  time.Time
	count  int
	scout  bool  // the next attempt asks one master first
	alone  bool  // the last one was denied by that master, and asked no other
	alones int   // how often in a row that master said no while a majority was free
	splits int   // how often in a row nobody held the name, and still a majority did not grant
	last   error // what the last attempt was answered; nil: nothing yet
}

func (a *attempts) run(ctx context.Context, w *waiter) (*Lock, error) {
	select {
	case err := <-w.turn:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, a.gaveUp(ctx)
	case <-a.locker.ending:
		return nil, ErrClosed
	}
	for {
		if a.locker.isEnding() {
			return nil, ErrClosed
		}
		claim := a.claim(newToken(a.owner()))
		lease, err := a.once(ctx, claim)
		if err == nil {
			return a.take(ctx, lease, claim)
		}
		var stuck *quorum.StuckError
		switch {
		case a.locker.isEnding():
			return nil, ErrClosed
		case ctx.Err() != nil:
			if !errors.Is(err, ctx.Err()) {
				a.last = err // the answer came with the end
			}
			return nil, a.gaveUp(ctx)
		case w.try, errors.As(err, &stuck):
			return nil, err
		}
		a.last = err
		a.locker.lines.told(a.line, err)
		if err := a.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// once asks the masters once, with a fresh token. All are asked at once, unless the name is known to be contended:
// then one first, the same one for everybody, so that the contenders do not split the vote.
func (a *attempts) once(ctx context.Context, c claim) (*quorum.Lease, error) {
	scout := quorum.Everywhere
	if a.scout {
		scout = a.locker.quorum.Scout(hash(a.target.names[0]))
	}
	a.count++
	lease, err := a.locker.quorum.Acquire(ctx, c.ops(), a.cfg.terms(), scout, a.faults)
	if err != nil {
		var denied *quorum.DeniedError
		a.alone = errors.As(err, &denied) && denied.Alone
		return nil, failure("lock", a.target, err)
	}
	return lease, nil
}

// claim is what the masters are asked with a token.
func (a *attempts) claim(token string) claim {
	return a.locker.claim(a.target, token, a.intent, a.cfg)
}

func (l *Locker) claim(t target, token, intent string, cfg *config) claim {
	return claim{
		target: t, token: token, intent: intent, ttl: cfg.ttl, fencing: cfg.fencing,
		hint: l.cfg.clock.Now().UnixMicro(), scripts: l.cfg.rules.scripts,
	}
}

// owner is whose the lock is to be.
func (a *attempts) owner() string { return cmp.Or(a.target.owner, a.cfg.owner) }

// take makes a Lock of a lease, and gives it to the keeper.
func (a *attempts) take(ctx context.Context, lease *quorum.Lease, c claim) (*Lock, error) {
	lock := newLock(ctx, a.locker, c, a.line, a.cfg, lease)
	// First the line: once the keeper has the lock it may end at any moment, and its end must find the line held.
	a.locker.lines.won(a.line, a.target.kind)
	if !a.locker.keeper.add(lock) {
		lock.release(nil)
		return nil, ErrClosed
	}
	if t := a.cfg.trace; t != nil && t.Acquired != nil {
		t.Acquired(lock.name, a.cfg.clock.Now().Sub(a.began), a.count)
	}
	return lock, nil
}

// gaveUp makes the error of a caller whose context ended while it waited.
func (a *attempts) gaveUp(ctx context.Context) error {
	waited := a.cfg.clock.Now().Sub(a.began).Round(time.Millisecond)
	if a.last == nil { // it never asked, but others in its line did
		a.last = a.locker.lines.reason(a.line)
	}
	if a.last == nil {
		return fmt.Errorf("redlock: lock %q: gave up after %v: %w", a.target.title(), waited, ctx.Err())
	}
	return fmt.Errorf("redlock: lock %q: gave up after %v: %w; it waited because: %w", a.target.title(), waited, ctx.Err(), a.last)
}

func (l *Locker) isEnding() bool {
	select {
	case <-l.ending:
		return true
	default:
		return false
	}
}

// terms are a lease's durations.
func (c *config) terms() quorum.Terms {
	return quorum.Terms{TTL: c.ttl, Drift: c.driftOf(), Timeout: c.timeout(), Window: c.window(), MaxHold: c.maxHold, Fencing: c.fencing}
}

// tokenTail is the length of what follows a token's owner.
const tokenTail = 1 + 2*16

// newToken is the owner, for people, and 16 random bytes, for the masters.
func newToken(owner string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return owner + ":" + hex.EncodeToString(b[:])
}

func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}
