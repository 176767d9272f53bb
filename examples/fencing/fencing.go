// Package fencing shows three stores that check fencing tokens: a SQL database, a Redis, and an HTTP or object store
// with conditional writes. Each refuses a write that carries a smaller token than one it has seen, so that a holder
// that was paused, and continues after another has the lock, does no harm. docs/fencing.md explains it.
//
// A store's token comes from locks on one name:
//
//	err := locker.Do(ctx, "nightly-report", func(ctx context.Context) error {
//		lock, _ := redlock.FromContext(ctx)
//		return table.Save(ctx, lock.Fence(), "nightly", report)
//	}, redlock.WithFencing())
//
// Two locks on different names have tokens that say nothing about each other.
package fencing

import "errors"

// ErrStale says that a later holder of the lock has been at the store. The caller no longer holds the lock, and
// must stop.
var ErrStale = errors.New("a later holder of the lock has been here: this one is over")
