// Package locker is the interface between the traffic and any lock: the one under test, one that is broken on
// purpose, or another project's.
package locker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/clock"
)

// ErrHeld means that somebody else holds the lock.
var ErrHeld = errors.New("held by another")

// Request is what a caller wants.
type Request struct {
	// Mode is one of the modes of package history; "" is a mutex.
	Mode string
	// Names are what to lock: one, unless the mode is several.
	Names []string
	// Owner is whose a reentrant lock is.
	Owner string
	// TTL is what to lock with.
	TTL time.Duration
	// Keepalive: the lock extends itself while it is held, if it can.
	Keepalive bool
	// Fencing: the lock comes with a fencing token, if it can.
	Fencing bool
	// Try: ask once instead of waiting until the context ends.
	Try bool
}

// Name is the first of the names, of most requests the only one.
func (r Request) Name() string { return r.Names[0] }

// Reads reports whether the request is for a reader's lock.
func (r Request) Reads() bool { return r.Mode == history.ModeReader }

// Locker gives locks.
type Locker interface {
	// Lock returns a held lock, or an error and none.
	Lock(ctx context.Context, r Request) (Lock, error)
	// Close ends everything that the Locker has.
	Close() error
}

// Lock is a held one. The methods mean what those of [github.com/redlock-go/redlock.Lock] mean.
type Lock interface {
	Token() string
	Fence() uint64
	// Until is a time of the clock in [Settings].
	Until() time.Time
	Context() context.Context
	Err() error
	Downgrade(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// Settings are what any Locker is opened with.
type Settings struct {
	// URLs are the masters. A lock on one master uses the first.
	URLs []string
	// Owner is the readable part of tokens.
	Owner string
	// Window is the restart window of the masters.
	Window time.Duration
	// Clock is the client's, which may be wrong.
	Clock clock.Clock
	// Timeout is how long a naive lock waits for one master of several; 0 is a tenth of a second.
	Timeout time.Duration
	// Between, if not nil, is called between the two steps of a lock that takes two where it should take one.
	Between func()
}

// Modes returns an error unless mode is one of those that a lock has.
func Modes(lock, mode string, has ...string) error {
	for _, m := range has {
		if m == mode {
			return nil
		}
	}
	return fmt.Errorf("the lock %q has no mode %q, only %q: give it other groups", lock, mode, has)
}
