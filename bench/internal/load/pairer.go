package load

import (
	"context"
	"errors"
	"time"
)

// A Pairer locks and unlocks, from many goroutines at once.
type Pairer interface {
	// Pair locks name, notes when it had the lock, and unlocks it. It tries once: if the name is held, it returns an error
	// and does not sleep.
	Pair(ctx context.Context, name string) (Timestamps, error)
	Close() error
}

// Timestamps say when the steps between the beginning and the end of a pair were done.
type Timestamps struct {
	Locked   time.Time
	extended time.Time // zero where nothing was extended
}

// An Acquirer waits for a lock as its library does.
type Acquirer interface {
	Acquire(ctx context.Context, name string) (HeldLock, error)
	Close() error
}

// A HeldLock can be extended and unlocked.
type HeldLock interface {
	Extend(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// A Batcher is measured by batches of its own, not by callers.
type batcher interface {
	Batches(ctx context.Context, l Load) (*Sample, error)
}

// An ExtendingPairer extends the lock in every pair before it unlocks.
type ExtendingPairer struct{ Acquirer }

// Pair acquires, extends and releases a lock.
func (t ExtendingPairer) Pair(ctx context.Context, name string) (m Timestamps, err error) {
	g, err := t.Acquire(ctx, name)
	m.Locked = time.Now()
	if err != nil {
		return m, err
	}
	err = g.Extend(ctx)
	m.extended = time.Now()
	return m, errors.Join(err, g.Unlock(ctx))
}
