package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
)

// plain is the kind that the others are compared with.
const plain = "mutex"

// allKinds are the kinds of locks, over five masters each, in the order of the report's rows.
func allKinds() []*contestant {
	kind := func(name, setup string, take taker, opts ...redlock.Option) *contestant {
		return &contestant{Name: name, Masters: quorumMasters, Setup: setup, open: func(urls []string, o openOptions) (pairer, error) {
			return openKind(urls, o, take, opts...)
		}}
	}
	return []*contestant{
		kind(plain, "Lock", lockMutex),
		kind("mutex+fencing", "Lock, WithFencing", lockMutex, redlock.WithFencing()),
		kind("reader", "RW.RLock", lockReader),
		kind("writer", "RW.Lock", lockWriter),
		kind("reentrant", "Reentrant.Lock, of an owner who holds nothing yet", lockOuter),
		kind("reentrant inner", "Reentrant.Lock, of an owner who holds the name already", lockInner),
		kind("three names", "LockAll of three names", lockThree),
	}
}

// A taker takes one kind of lock.
type taker func(ctx context.Context, p *kindPairer, name string) (*redlock.Lock, error)

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

// lockInner locks a caller's one name again, which it holds from its first pair on: one for each of its names would keep
// the masters busy with extensions.
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
	take  taker
	outer sync.Map // the holds that inner ones stand on, by name
}

func openKind(urls []string, o openOptions, take taker, opts ...redlock.Option) (pairer, error) {
	locker, err := redlock.Open(urls, append(opts, redlock.WithTTL(o.ttl), redlock.WithRestartWindow(o.ttl), redlock.WithNodeTimeout(o.ttl/2))...)
	if err != nil {
		return nil, err
	}
	return &kindPairer{redlockPairer: &redlockPairer{locker}, take: take}, nil
}

func (p *kindPairer) Pair(ctx context.Context, name string) (time.Time, error) {
	lock, err := p.take(ctx, p, name)
	locked := time.Now()
	if err != nil {
		return locked, err
	}
	return locked, lock.Unlock(ctx)
}

// kindsPart measures the kinds as the latency part does the contestants.
func kindsPart(ctx context.Context, s *settings, m *masters, p *progress) (rows []*row, err error) {
	kinds, plan := allKinds(), s.kindsPlan
	p.stage("kinds: %d rounds, about %v", plan.rounds, plan.estimate(len(kinds)).Round(time.Second))
	for _, c := range kinds {
		if err := ready(ctx, c, m, openOptions{ttl: s.ttl}, p); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
	}
	if err := warmUp(ctx, plan, kinds, p); err != nil {
		return nil, err
	}
	return measureLatency(ctx, plan, kinds, p)
}

func (r *report) writeKinds(w io.Writer) {
	for _, callers := range loadsOf(r.Kinds) {
		rows := slices.DeleteFunc(slices.Clone(r.Kinds), func(row *row) bool { return row.Callers != callers })
		base := rows[0].values(pairMicros)
		fmt.Fprintf(w, "\nkinds: lock + unlock, %d %s, distinct names, %d masters: median of %d rounds [lowest–highest]\n",
			callers, plural(callers, "caller"), quorumMasters, len(base))
		t := table{{"kind", "µs/pair", "p50 µs", "p99 µs", "allocs/pair", "time × " + plain + "'s"}}
		for _, row := range rows {
			t = append(t, slices.Concat([]string{row.Contestant}, row.cells(), []string{ratioOf(row.values(pairMicros), base).format(2)}))
		}
		t.write(w)
	}
	if len(r.Kinds) > 0 {
		fmt.Fprintln(w, "× is time against the "+plain+"'s in the same round: above 1 is slower")
	}
	writeFailures(w, r.Kinds)
}
