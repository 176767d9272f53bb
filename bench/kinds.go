package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
)

// plain is the kind that the others are compared with, and fenced the same with a fencing token.
const (
	plain  = "mutex"
	fenced = "mutex+fencing"
)

// allKinds are the kinds of locks, over five masters each, in the order of the report's rows.
func allKinds() []*contestant {
	kind := func(name, setup string, take kindTaker, opts ...redlock.Option) *contestant {
		return &contestant{Name: name, Masters: quorumMasters, Setup: setup, open: func(urls []string, o openOptions) (pairer, error) {
			return openKind(urls, o, take, opts...)
		}}
	}
	return []*contestant{
		kind(plain, "Lock", lockMutex),
		kind(fenced, "Lock, WithFencing", lockMutex, redlock.WithFencing()),
		kind("reader", "RW.RLock", lockReader),
		kind("writer", "RW.Lock", lockWriter),
		kind("reentrant", "Reentrant.Lock, of an owner who holds nothing yet", lockOuter),
		kind("reentrant inner", "Reentrant.Lock, of an owner who holds the name already", lockInner),
		kind("three names", "LockAll of three names", lockThree),
	}
}

// A kindTaker takes one kind of lock.
type kindTaker func(ctx context.Context, p *kindPairer, name string) (*redlock.Lock, error)

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
	take  kindTaker
	outer sync.Map // the holds that inner ones stand on, by name
}

func openKind(urls []string, o openOptions, take kindTaker, opts ...redlock.Option) (pairer, error) {
	locker, err := redlock.Open(urls, append(opts, redlock.WithTTL(o.ttl), redlock.WithRestartWindow(o.ttl), redlock.WithNodeTimeout(o.ttl/2))...)
	if err != nil {
		return nil, err
	}
	return &kindPairer{redlockPairer: &redlockPairer{locker}, take: take}, nil
}

func (p *kindPairer) Pair(ctx context.Context, name string) (marks, error) {
	lock, err := p.take(ctx, p, name)
	locked := marks{locked: time.Now()}
	if err != nil {
		return locked, err
	}
	return locked, lock.Unlock(ctx)
}

const kindSlice, kindSmoke = 300 * time.Millisecond, 60 * time.Millisecond

// kindsPart measures the kinds as the latency part does the contestants.
func kindsPart(ctx context.Context, s *session) (err error) {
	plan := latencyPlan{
		part: "kinds", rounds: s.rounds, callers: []int{1, 64},
		slice: s.sliceOf(kindSlice, kindSmoke), ramp: s.rampOf(latencyRamp, smokeRamp),
	}
	kinds := among(allKinds(), s.kindsOnly())
	s.progress.stage("kinds: %d rounds, about %v", plan.rounds, plan.estimate(len(kinds)).Round(time.Second))
	kinds, closeAll, err := s.readyAll(ctx, kinds, s.masters.urls, openOptions{ttl: s.ttl})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if err := warmUp(ctx, plan, kinds, s.progress); err != nil {
		return err
	}
	s.report.Kinds, err = measureLatency(ctx, plan, kinds, s.progress)
	return err
}

// kindsOnly is the list of contestants where it names kinds: the plain mutex is always among them, to compare with.
func (s *settings) kindsOnly() string {
	if picked := among(allKinds(), s.only); s.only == "" || len(picked) == 0 {
		return ""
	}
	return plain + "," + s.only
}
