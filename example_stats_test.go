package redlock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-go/redlock"
)

func ExampleStats() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		lock, err := locker.Lock(ctx, "orders:42")
		if err != nil {
			return err
		}
		_, _ = locker.TryLock(ctx, "orders:42")

		stats := locker.Stats()
		fmt.Println("held:", stats.Held, "acquired:", stats.Acquired, "refused:", stats.Refused)
		for _, k := range stats.Kinds {
			show := func(kind redlock.Kind, s redlock.LockStats) { fmt.Println(kind, s.Held) }
			if k.Started > 0 {
				show(k.Kind, k.LockStats)
			}
		}
		return lock.Unlock(ctx)
	})
	// Output:
	// held: 1 acquired: 1 refused: 1
	// mutex 1
}

func ExampleKindStats() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		if err := locker.RW("catalog").RDo(ctx, func(context.Context) error { return nil }); err != nil {
			return err
		}
		for _, k := range locker.Stats().Kinds {
			if k.Acquired > 0 {
				fmt.Println(k.Kind, "acquired", k.Acquired, "released", k.Released)
			}
		}
		return nil
	})
	// Output:
	// reader acquired 1 released 1
}

func ExampleNodeStats() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		if err := locker.Do(ctx, "orders:42", func(context.Context) error { return nil }); err != nil {
			return err
		}
		voting := 0
		for _, node := range locker.Stats().Nodes {
			if node.State == redlock.NodeVoting && node.Failed == 0 {
				voting++
			}
		}
		fmt.Println("a majority votes:", voting > len(locker.Stats().Nodes)/2)
		return nil
	})
	// Output:
	// a majority votes: true
}

func ExampleNodeState() {
	describe := func(s redlock.State) string {
		if s == redlock.NodeRestarting || s == redlock.NodeVoting {
			return "answers"
		}
		return "look at it"
	}
	fmt.Println(describe(redlock.NodeVoting))
	fmt.Println(describe(redlock.NodeSuspect))
	// Output:
	// answers
	// look at it
}

func ExampleHistogram() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		for range 4 {
			if err := locker.Do(ctx, "orders:42", func(context.Context) error { return nil }); err != nil {
				return err
			}
		}
		within := func(h redlock.Histogram, d time.Duration) (n int64) {
			for i, bound := range h.Bounds {
				if bound <= d {
					n += h.Counts[i]
				}
			}
			return n
		}
		fmt.Println(within(locker.Stats().Waits, time.Minute), "locks were acquired within a minute")
		return nil
	})
	// Output:
	// 4 locks were acquired within a minute
}
