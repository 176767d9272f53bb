package peers

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/load"
)

// Mutex is the kind that the others are compared with. FencedMutex is the same with a fencing token.
const (
	Mutex       = "mutex"
	FencedMutex = "mutex+fencing"
)

// Kinds returns the kinds of locks, over five masters each, in the order of the report's rows.
func Kinds() []*Contestant {
	kind := func(name, setup string, take lockFunc, opts ...redlock.Option) *Contestant {
		return &Contestant{
			Name:    name,
			Masters: QuorumMasters,
			Setup:   setup,
			Open: func(urls []string, o Options) (load.Pairer, error) {
				return openKind(urls, o, take, opts...)
			},
		}
	}
	return []*Contestant{
		kind(Mutex, "Lock", lockMutex),
		kind(FencedMutex, "Lock, WithFencing", lockMutex, redlock.WithFencing()),
		kind("reader", "RW.RLock", lockReader),
		kind("writer", "RW.Lock", lockWriter),
		kind("reentrant", "Reentrant.Lock, of an owner who holds nothing yet", lockOuter),
		kind("reentrant inner", "Reentrant.Lock, of an owner who holds the name already", lockInner),
		kind("three names", "LockAll of three names", lockThree),
	}
}

// A lockFunc acquires one kind of lock.
type lockFunc func(ctx context.Context, p *kindPairer, name string) (*redlock.Lock, error)

func lockMutex(ctx context.Context, p *kindPairer, name string) (*redlock.Lock, error) {
	return p.locker.Lock(ctx, name)
}

func lockReader(ctx context.Context, p *kindPairer, name string) (*redlock.Lock, error) {
	return p.locker.RW(name).RLock(ctx)
}

func lockWriter(ctx context.Context, p *kindPairer, name string) (*redlock.Lock, error) {
	return p.locker.RW(name).Lock(ctx)
}

func lockOuter(ctx context.Context, p *kindPairer, name string) (*redlock.Lock, error) {
	return p.locker.Reentrant(name, "bench").Lock(ctx)
}

// lockInner locks a caller's one name again, which it holds from its first pair on: one for each of its names would
// keep the masters busy with extensions.
func lockInner(ctx context.Context, p *kindPairer, name string) (*redlock.Lock, error) {
	name = name[:strings.LastIndexByte(name, ':')]
	if _, held := p.outer.Load(name); !held {
		outer, err := lockOuter(context.WithoutCancel(ctx), p, name)
		if err != nil {
			return nil, err
		}
		p.outer.Store(name, outer)
	}
	return lockOuter(ctx, p, name)
}

func lockThree(ctx context.Context, p *kindPairer, name string) (*redlock.Lock, error) {
	return p.locker.LockAll(ctx, []string{name + ":a", name + ":b", name + ":c"})
}

// kindPairer is the product, with one kind of lock.
type kindPairer struct {
	*redlockPairer
	lockKind lockFunc
	outer    sync.Map // the holds that inner ones stand on, by name
}

func openKind(urls []string, o Options, take lockFunc, opts ...redlock.Option) (load.Pairer, error) {
	locker, err := redlock.Open(
		urls,
		append(opts, redlock.WithTTL(o.TTL), redlock.WithNodeTimeout(o.TTL/2))...)
	if err != nil {
		return nil, err
	}
	return &kindPairer{redlockPairer: &redlockPairer{locker}, lockKind: take}, nil
}

func (p *kindPairer) Pair(ctx context.Context, name string) (load.Timestamps, error) {
	lock, err := p.lockKind(ctx, p, name)
	locked := load.Timestamps{Locked: time.Now()}
	if err != nil {
		return locked, err
	}
	return locked, lock.Unlock(ctx)
}
