package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
)

// acquire locks name as the flags say. A signal ends the wait. The error is then an exit with status 128+n and no text,
// and nothing is held.
func acquire(locker *redlock.Locker, f *runFlags, name string, signals <-chan os.Signal) (*redlock.Lock, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if f.wait > 0 {
		ctx, cancel = context.WithTimeout(ctx, f.wait)
		defer cancel()
	}
	ask := f.acquireMethod(locker)
	type result struct {
		lock *redlock.Lock
		err  error
	}
	answer := make(chan result, 1)
	go func() {
		lock, err := ask(ctx, name)
		answer <- result{lock, err}
	}()
	hide := sync.OnceFunc(showWait(locker, name, f.shared))
	defer hide()

	var got result
	var caught os.Signal
	select {
	case got = <-answer:
	case caught = <-signals:
		cancel()
		got = <-answer
	}
	if caught != nil {
		if got.lock != nil {
			_ = got.lock.Unlock(context.Background()) // it was won at the last moment
		}
		return nil, &exit{exitSignal + signalNumber(caught), nil}
	}
	if got.err != nil {
		hide()
		return nil, notAcquired(locker, f, name, got.err)
	}
	return got.lock, nil
}

// once reports whether to try once and not to wait.
func (f *runFlags) once() bool { return f.try || f.waits && f.wait == 0 }

// acquireMethod returns the method of the Locker that the flags select.
func (f *runFlags) acquireMethod(locker *redlock.Locker) func(context.Context, string) (*redlock.Lock, error) {
	return func(ctx context.Context, name string) (*redlock.Lock, error) {
		switch {
		case f.slots > 0 && f.once():
			return locker.Semaphore(name, f.slots).TryAcquire(ctx)
		case f.slots > 0:
			return locker.Semaphore(name, f.slots).Acquire(ctx)
		case f.shared && f.once():
			return locker.RW(name).TryRLock(ctx)
		case f.shared:
			return locker.RW(name).RLock(ctx)
		case f.once():
			return locker.TryLock(ctx, name)
		default:
			return locker.Lock(ctx, name)
		}
	}
}

// notAcquired returns the error for a name that was not locked: the reason, and how to get the lock.
func notAcquired(locker *redlock.Locker, f *runFlags, name string, err error) error {
	e := exitFor(err)
	switch {
	case e.code == exitNoQuorum:
		e.err = fmt.Errorf("%s is not locked: %w", quote(name), e.err)
	case e.code == exitNotAcquired:
		advice := fmt.Sprintf("gave up after %v (--wait)", f.wait)
		switch {
		case f.try:
			advice = "without --try, redlock waits for it"
		case f.once():
			advice = "with a longer --wait, redlock waits for it"
		}
		e.err = fmt.Errorf("%s; %s", describeHolders(locker, name, err), advice)
	case errors.Is(err, context.DeadlineExceeded): // before any answer came
		e = &exit{exitNotAcquired, fmt.Errorf("%s is not locked: no answer arrived within %v (--wait)", quote(name), f.wait)}
	}
	return e
}

// describeHolders describes who holds name, if a majority of the masters answers within a second. err is the ErrHeld.
func describeHolders(locker *redlock.Locker, name string, err error) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	holding, failed := locker.Inspect(ctx, name)
	if failed != nil || len(holding.Holders) == 0 {
		return describeHeldError(err)
	}
	return describeHolding(name, holding)
}

// describeHolding describes who holds name: one holder, the number of others, the kind of lock, and the longest
// remaining TTL.
func describeHolding(name string, holding redlock.Holding) string {
	text := quote(name) + " is held by " + owner(holding.Holders[0].Token)
	if others := len(holding.Holders) - 1 + holding.Others; others > 0 && holding.Depth <= 1 { // deeper ones are all the owner's
		text += fmt.Sprintf(" and %d more", others)
	}
	if holding.Kind != "" {
		text += " (" + holding.Kind + ")"
	}
	last := holding.Holders[0].Left
	for _, h := range holding.Holders {
		if h.Left < 0 {
			return text + ", without an end"
		}
		last = max(last, h.Left)
	}
	return text + ", " + shortDuration(last) + " left unless it is extended"
}
