package redlock_test

import (
	"context"

	"github.com/redlock-go/redlock"
)

// storage adds locks by key to files: such a method set is what certmagic asks of its storage.
type storage struct {
	files
	*redlock.Keyed // Lock, TryLock, Unlock
}

func newStorage(locker *redlock.Locker, f files) storage { return storage{f, locker.Keyed()} }

func (s storage) renew(ctx context.Context, domain string) error {
	key := "certificates/" + domain
	if err := s.Lock(ctx, key); err != nil {
		return err
	}
	defer s.Unlock(ctx, key)
	return s.write(s.Context(key), key) // the context ends when the lock is lost
}

// files is a stand-in for what stores the certificates.
type files struct {
	write func(ctx context.Context, key string) error
}

func ExampleKeyed() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		s := newStorage(locker, files{func(ctx context.Context, key string) error { return showHolders(ctx, locker, key) }})
		return s.renew(ctx, "example.org")
	})
	// Output: certificates/example.org: mutex, 1
}
