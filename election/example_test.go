package election_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
	"github.com/redlock-go/redlock/internal/embedded"
)

// The code of docs/locks.md; a test of the root compares them.

// lead calls schedule while this process leads. It returns when schedule has returned nil, or its own error, or when
// ctx ends.
func lead(
	ctx context.Context, locker *redlock.Locker, schedule func(ctx context.Context, term uint64) error,
) error {
	e := election.New(locker, "scheduler")
	return e.Run(ctx, func(ctx context.Context) error { // this process leads until this ctx ends
		lock, _ := redlock.FromContext(ctx)
		return schedule(ctx, lock.Fence()) // the term: let the storage refuse a smaller one
	})
}

// watch prints each new leader until ctx ends.
func watch(ctx context.Context, locker *redlock.Locker) {
	for leader := range election.New(locker, "scheduler").Observe(ctx) {
		fmt.Println(leader.Owner, "leads")
	}
}

func Example() {
	masters, err := embedded.OpenAll(3) // in a program: the URLs of its masters
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.CloseAll(masters)
	patient := redlock.WithNodeTimeout(9 * time.Second) // only here: a test machine may be busy
	locker, err := redlock.Open(embedded.URLs(masters), redlock.WithOwner("host-7"), patient)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()

	err = lead(context.Background(), locker, func(ctx context.Context, term uint64) error {
		ctx, cancel := context.WithTimeout(ctx, 10*pace)
		defer cancel()
		watch(ctx, locker)
		leader, err := election.New(locker, "scheduler").Leader(context.Background())
		fmt.Println("this term:", leader.Term == term)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// host-7 leads
	// this term: true
}
