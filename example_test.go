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

	lock, err := locker.Lock(ctx, "orders:42") // waits until ctx ends
	if err != nil {
		return err
	}
	work := lock.Context() // ends when the lock is lost: pass it to everything done under the lock
	fmt.Println("order 42 is ours:", work.Err() == nil)
	return lock.Unlock(ctx) // ErrLost: somebody else may have had the lock meanwhile
}

// A process locks, works under the lock's context, and unlocks. This is the README's code.
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
