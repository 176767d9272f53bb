package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

func ExampleHolding() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		account := locker.Reentrant("account:9", "request-17")
		outer, err := account.Lock(ctx)
		if err != nil {
			return err
		}
		inner, err := account.Lock(ctx)
		if err != nil {
			return errors.Join(err, outer.Unlock(ctx))
		}
		h, err := locker.Inspect(ctx, "account:9")
		fmt.Println(h.Name, h.Kind, "of depth", h.Depth)
		return errors.Join(err, inner.Unlock(ctx), outer.Unlock(ctx))
	})
	// Output:
	// account:9 reentrant of depth 2
}

func ExampleHolder() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		lock, err := locker.Lock(ctx, "orders:42")
		if err != nil {
			return err
		}
		h, err := locker.Inspect(ctx, "orders:42")
		for _, holder := range h.Holders {
			fmt.Println("ours:", holder.Token == lock.Token(), "masters:", holder.Votes, "will end:", holder.Left > 0)
		}
		return errors.Join(err, lock.Unlock(ctx))
	})
	// Output:
	// ours: true masters: 5 will end: true
}

func ExampleNodeHolding() {
	withBoth(func(ctx context.Context, locker *redlock.Locker, masters []*redlocktest.Master) error {
		masters[3].Stop()
		lock, err := locker.Lock(ctx, "orders:42")
		if err != nil {
			return err
		}
		h, err := locker.Inspect(ctx, "orders:42")
		for i, row := range h.Nodes {
			fmt.Printf("%d: %q answered: %t\n", i, row.Kind, row.Err == nil)
		}
		return errors.Join(err, lock.Unlock(ctx))
	})
	// Output:
	// 0: "mutex" answered: true
	// 1: "mutex" answered: true
	// 2: "mutex" answered: true
	// 3: "" answered: false
	// 4: "mutex" answered: true
}

func ExampleNodeStatus() {
	withBoth(func(ctx context.Context, locker *redlock.Locker, masters []*redlocktest.Master) error {
		masters[0].Stop()  // crashed …
		masters[0].Start() // … and back, empty
		masters[3].Stop()
		rows, err := locker.Nodes(ctx)
		for i, row := range rows {
			fmt.Println(i, "reachable:", row.Reachable, "may vote:", row.MayVote, "later:", row.VoteIn > 0)
		}
		return err
	})
	// Output:
	// 0 reachable: true may vote: false later: true
	// 1 reachable: true may vote: true later: false
	// 2 reachable: true may vote: true later: false
	// 3 reachable: false may vote: false later: false
	// 4 reachable: true may vote: true later: false
}

func ExampleNodeError() {
	withBoth(func(ctx context.Context, locker *redlock.Locker, masters []*redlocktest.Master) error {
		for _, master := range masters[:3] {
			master.Stop()
		}
		_, err := locker.TryLock(ctx, "orders:42")
		fmt.Println("no quorum:", errors.Is(err, redlock.ErrNoQuorum))
		var failed *redlock.NodeError // the first of three
		if errors.As(err, &failed) {
			fmt.Println("first master:", strings.HasSuffix(masters[0].URL(), failed.Node), "operation:", failed.Op)
		}
		for i, failed := range redlock.NodeErrors(err) {
			fmt.Println(i, strings.HasSuffix(masters[i].URL(), failed.Node), failed.Op)
		}
		return nil
	})
	// Output:
	// no quorum: true
	// first master: true operation: acquire
	// 0 true acquire
	// 1 true acquire
	// 2 true acquire
}

func ExampleLocker_Release() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		lock, err := locker.Lock(ctx, "nightly-report")
		if err != nil {
			return err
		}
		// The holder hangs, and an operator does not wait.
		fmt.Println(locker.Release(ctx, "nightly-report", lock.Token()))
		fmt.Println(errors.Is(lock.Unlock(ctx), redlock.ErrLost))
		return nil
	})
	// Output:
	// <nil>
	// true
}

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
