package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/keyed"
)

// The code of docs/locks.md; a test of the root compares them.

// storage adds locks by key to files: certmagic requires these methods of its storage.
type storage struct {
	files
	*keyed.Keyed // Lock, TryLock, Unlock
}

func newStorage(locker *redlock.Locker, f files) storage { return storage{f, keyed.New(locker)} }

func (s storage) renew(ctx context.Context, domain string) (err error) {
	key := "certificates/" + domain
	if err = s.Lock(ctx, key); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Unlock(ctx, key)) }() // ErrLost: another process may have written, too
	return s.write(key)
}

// files is a stand-in for what stores the certificates.
type files struct{ write func(key string) error }

func ExampleKeyed() {
	masters, err := embedded.OpenAll(3) // in a program: the URLs of its masters
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.CloseAll(masters)
	patient := redlock.WithNodeTimeout(9 * time.Second) // only here: a test machine may be busy
	locker, err := redlock.Open(embedded.URLs(masters), patient)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()

	s := newStorage(locker, files{func(key string) error {
		_, err := locker.TryLock(context.Background(), key)
		fmt.Println(key, "is held:", errors.Is(err, redlock.ErrHeld))
		return nil
	}})
	if err := s.renew(context.Background(), "example.org"); err != nil {
		log.Fatal(err)
	}
	// Output: certificates/example.org is held: true
}
