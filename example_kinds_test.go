package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock"
)

// The code of docs/locks.md; docs_test.go compares them.

func exclusive(ctx context.Context, locker *redlock.Locker, work func(context.Context) error) error {
	err := locker.Do(ctx, "nightly-report", work) // waits, locks, works, unlocks
	if errors.Is(err, redlock.ErrLost) {
		return fmt.Errorf("another holder may have run at the same time: %w", err)
	}
	return err
}

func readCatalog(ctx context.Context, locker *redlock.Locker, use func(context.Context) error) error {
	return locker.RW("catalog").RDo(ctx, use) // together with other readers
}

func rebuildCatalog(ctx context.Context, locker *redlock.Locker, write func(context.Context) error) error {
	return locker.RW("catalog").Do(ctx, write) // alone
}

func transfer(ctx context.Context, locker *redlock.Locker, request string, book func(context.Context) error) error {
	account := locker.Reentrant("account:9", request)
	return account.Do(ctx, func(ctx context.Context) error {
		return account.Do(ctx, func(ctx context.Context) error { // in code that locks for itself: it does not wait
			return book(ctx)
		})
	})
}

func move(ctx context.Context, locker *redlock.Locker, from, to string, work func(context.Context) error) error {
	return locker.DoAll(ctx, []string{from, to}, work) // in any order
}

func publish(ctx context.Context, locker *redlock.Locker, save func(ctx context.Context, fence uint64) error) error {
	return locker.Do(ctx, "nightly-report", func(ctx context.Context) error {
		lock, _ := redlock.FromContext(ctx)
		return save(ctx, lock.Fence())
	}, redlock.WithFencing())
}

func encode(ctx context.Context, locker *redlock.Locker, work func(context.Context) error) error {
	return locker.Semaphore("encoder", 3).Do(ctx, work) // at most three at a time, on all machines together
}

func nightly(ctx context.Context, locker *redlock.Locker, job func(context.Context) error) error {
	lock, err := locker.TryLock(ctx, "nightly", redlock.WithMinHold(10*time.Second))
	if errors.Is(err, redlock.ErrHeld) {
		return nil // another machine runs the job, or ran it less than ten seconds ago
	}
	if err != nil {
		return err
	}
	ctx, cancel := lock.WithContext(ctx) // ends with the caller's context, or when the lock is lost
	defer cancel()
	defer lock.Unlock(ctx) // if job panics; otherwise the lock is unlocked by then
	return errors.Join(job(ctx), lock.Unlock(ctx))
}

// showHolders prints who holds a name.
func showHolders(ctx context.Context, locker *redlock.Locker, name string) error {
	h, err := locker.Inspect(ctx, name)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s, %d\n", name, h.Kind, len(h.Holders))
	return nil
}

func ExampleLocker_Do() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		return exclusive(ctx, locker, func(ctx context.Context) error { return showHolders(ctx, locker, "nightly-report") })
	})
	// Output:
	// nightly-report: mutex, 1
}

func ExampleRW() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		show := func(ctx context.Context) error { return showHolders(ctx, locker, "catalog") }
		return errors.Join(readCatalog(ctx, locker, show), rebuildCatalog(ctx, locker, show))
	})
	// Output:
	// catalog: reader, 1
	// catalog: writer, 1
}

func ExampleReentrant() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		return transfer(
			ctx, locker, "request-17", func(ctx context.Context) error { return showHolders(ctx, locker, "account:9") },
		)
	})
	// Output:
	// account:9: reentrant, 2
}

func ExampleLocker_LockAll() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		return move(ctx, locker, "shelf:7", "shelf:2", func(ctx context.Context) error {
			return errors.Join(showHolders(ctx, locker, "shelf:2"), showHolders(ctx, locker, "shelf:7"))
		})
	})
	// Output:
	// shelf:2: mutex, 1
	// shelf:7: mutex, 1
}

func ExampleWithFencing() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		var last uint64
		for range 3 {
			err := publish(ctx, locker, func(_ context.Context, fence uint64) error {
				fmt.Println("larger than the one before:", fence > last)
				last = fence
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	// Output:
	// larger than the one before: true
	// larger than the one before: true
	// larger than the one before: true
}

func ExampleSemaphore() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		return encode(ctx, locker, func(ctx context.Context) error {
			sem := locker.Semaphore("encoder", 3)
			for range 2 {
				if _, err := sem.TryAcquire(ctx); err != nil {
					return err
				}
			}
			_, err := sem.TryAcquire(ctx)
			fmt.Println("a fourth:", errors.Is(err, redlock.ErrHeld))
			return showHolders(ctx, locker, "encoder")
		})
	})
	// Output:
	// a fourth: true
	// encoder: semaphore, 3
}

func ExampleWithMinHold() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		for range 2 {
			err := nightly(ctx, locker, func(context.Context) error {
				fmt.Println("the job runs")
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	// Output:
	// the job runs
}

func ExampleSlotsError() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		return encode(ctx, locker, func(ctx context.Context) error {
			_, err := locker.Semaphore("encoder", 5).Acquire(ctx)
			var slots *redlock.SlotsError
			fmt.Println(errors.As(err, &slots), slots.Want, slots.Have)
			return nil
		})
	})
	// Output:
	// true 5 3
}
