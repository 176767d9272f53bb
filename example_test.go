package redlock_test

import (
	"context"
	"fmt"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/embedded"
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

// A process locks, works under a context that ends with the lock, and unlocks. This is the README's code.
func Example() {
	masters, err := embedded.OpenAll(5) // in their place: the URLs of your masters
	if err != nil {
		fmt.Println(err)
		return
	}
	defer embedded.CloseAll(masters)
	urls := make([]string, len(masters))
	for i, m := range masters {
		urls[i] = m.URL()
	}
	fmt.Println(ship(context.Background(), urls))
	// Output:
	// order 42 is ours: true
	// <nil>
}
