// Command quickstart does one thing under a lock. The README shows it. REDLOCK_MASTERS has the URLs of the masters; for
// those of redlock dev, paste the line that it prints.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/redlock-go/redlock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // ends the wait, or the work
	defer stop()
	locker, err := redlock.Open(strings.Split(os.Getenv("REDLOCK_MASTERS"), ",")) // one per process; sends nothing yet
	if err != nil {
		log.Fatal(err)
	}
	err = locker.Do(ctx, "orders:42", func(ctx context.Context) error { // waits for the lock
		fmt.Println("order 42 is ours:", ctx.Err() == nil) // ctx ends when the lock is lost
		return nil
	})
	if err := errors.Join(err, locker.Close()); err != nil {
		log.Fatal(err) // ErrLost: the lock expired under the function, and another holder may have run since
	}
}
