package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock"
)

// acquire locks name as the flags say. A signal ends the wait. The error is then an exit with status 128+n and no text,
// and nothing is held.
func acquire(locker *redlock.Locker, f *runFlags, name string, signals *caught) (*redlock.Lock, error) {
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
	itself := make(chan error, 1)
	go func() { itself <- waitsForItself(ctx, locker, f, name) }()
	hide := func() {}
	if !f.quiet {
		hide = showWait(locker, name, f.shared, &f.refusals)
	}
	defer hide()
	abandon := func() {
		cancel()
		if got := <-answer; got.lock != nil {
			_ = got.lock.Unlock(context.Background()) // it was won at the last moment
			endMinHold(locker, f, got.lock)
		}
	}
	for {
		select {
		case got := <-answer:
			if got.err != nil {
				hide()
				return nil, notAcquired(locker, f, name, got.err)
			}
			return got.lock, nil
		case err := <-itself:
			if err != nil {
				abandon()
				return nil, err
			}
		case s := <-signals.c:
			if !endsWait(s) {
				continue
			}
			abandon()
			return nil, &exit{exitSignal + signalNumber(s), nil}
		}
	}
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
	case e.code == exitNotAcquired && f.quiet:
		return &exit{f.skipStatus, nil}
	case e.code == exitNotAcquired:
		advice := fmt.Sprintf("gave up after %v (--wait)", f.wait)
		switch {
		case f.try:
			advice = "without --try, redlock waits for it"
		case f.once():
			advice = "with a longer --wait, redlock waits for it"
		}
		e = &exit{f.skipStatus, fmt.Errorf("%s; %s", describeHolders(locker, name, err), advice)}
	case errors.Is(err, context.DeadlineExceeded): // before any answer came
		e = &exit{exitNoQuorum, fmt.Errorf("%s is not locked: no majority of the masters answered within %v (--wait)",
			quote(name), f.wait)}
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
	if slices.Contains(outerTokens()[name], holding.Holders[0].Token) {
		text += ", for the redlock that started this command"
	}
	others := len(holding.Holders) - 1 + holding.Others
	if others > 0 && holding.Depth <= 1 { // deeper ones are all the owner's
		text += fmt.Sprintf(" and %d more", others)
	}
	if holding.Kind != "" {
		text += " (" + string(holding.Kind) + ")"
	}
	return text + ", " + describeEnd(holding.Holders)
}

// describeEnd describes when the last of the holders will be gone.
func describeEnd(holders []redlock.Holder) string {
	left, kept := holders[0].Left, true
	for _, h := range holders {
		if h.Left < 0 {
			return "without an end"
		}
		left, kept = max(left, h.Left), kept && isKept(h.Token)
	}
	text := shortDuration(left) + " left"
	if kept { // nobody extends a minimum hold
		return text
	}
	return text + " unless it is extended"
}
