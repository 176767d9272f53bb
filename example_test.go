package redlock_test

import (
	"context"
	"fmt"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

func ship(ctx context.Context, masters []string) error {
	locker, err := redlock.Open(masters) // sends nothing yet; a process needs one Locker
	if err != nil {
		return err
	}
	defer locker.Close()

	return locker.Do(ctx, "orders:42", func(ctx context.Context) error { // waits for the lock until ctx ends
		fmt.Println("order 42 is ours:", ctx.Err() == nil) // this ctx ends with the caller's, or when the lock is lost
		return nil
	}) // ErrLost: the lock expired under the function, and another holder may have run since
}

// A process acquires a lock, works under a context that ends with the lock, and releases it.
func Example() {
	withMasters(func(ctx context.Context, masters []*redlocktest.Master) error {
		return ship(ctx, redlocktest.URLs(masters)) // in a program: the URLs of its masters
	})
	// Output: order 42 is ours: true
}
