package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/redlock-go/redlock"
)

// acquire locks name as the flags say. A signal ends the wait: the error is then a silent exit of 128+n, and nothing is
// held.
func acquire(locker *redlock.Locker, f *runFlags, name string, signals <-chan os.Signal) (*redlock.Lock, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if f.wait > 0 {
		ctx, cancel = context.WithTimeout(ctx, f.wait)
		defer cancel()
	}
	ask := f.asker(locker)
	type result struct {
		lock *redlock.Lock
		err  error
	}
	answer := make(chan result, 1)
	go func() {
		lock, err := ask(ctx, name)
		answer <- result{lock, err}
	}()
	hide := showWait(locker, name, f.shared)
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
		return nil, &exit{exitSignal + number(caught), nil}
	}
	if got.err != nil {
		return nil, notAcquired(f, name, got.err)
	}
	return got.lock, nil
}

// asker is how the flags say that a name is to be locked.
func (f *runFlags) asker(locker *redlock.Locker) func(context.Context, string) (*redlock.Lock, error) {
	return func(ctx context.Context, name string) (*redlock.Lock, error) {
		switch {
		case f.shared && f.try:
			return locker.RW(name).TryRLock(ctx)
		case f.shared:
			return locker.RW(name).RLock(ctx)
		case f.try:
			return locker.TryLock(ctx, name)
		default:
			return locker.Lock(ctx, name)
		}
	}
}

// notAcquired says why there is no lock, and how to get it.
func notAcquired(f *runFlags, name string, err error) error {
	e := failure(err)
	var held *redlock.HeldError
	switch {
	case e.code == exitNoQuorum:
		e.err = fmt.Errorf("%s is not locked: %w", quote(name), e.err)
	case f.try && e.code == exitNotAcquired:
		e.err = fmt.Errorf("%w; without --try, redlock waits for it", err)
	case errors.As(err, &held):
		e.err = fmt.Errorf("%w; gave up after %v (--wait)", held, f.wait)
	case errors.Is(err, context.DeadlineExceeded): // before any answer came
		e = &exit{exitNotAcquired, fmt.Errorf("%s is not locked: nothing was heard within %v (--wait)", quote(name), f.wait)}
	}
	return e
}
