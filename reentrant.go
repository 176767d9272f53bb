package redlock

import (
	"context"

	"github.com/redlock-go/redlock/internal/kind"
)

// Reentrant is a lock that its owner may acquire again while holding it. See [Locker.Reentrant].
type Reentrant struct {
	locker      *Locker
	name, owner string
}

// Reentrant returns the reentrant lock on name for owner. It sends nothing. Go has no thread identity, so callers that
// may share the lock agree on an owner name: that of a worker, a request, a transaction. While the owner holds the
// lock, calls for the same owner acquire it again, from any goroutine and any process, and never wait behind other
// owners.
//
// Every Lock is a separate hold, with its own TTL and keepalive, and needs its own Unlock. The name is free when the
// last hold has ended. So an owner whose holds always overlap keeps other owners out indefinitely. If a hold with a
// minimum hold ([WithMinHold]) ends early, its owner may lock again before that time is over; other owners may not.
// Lock returns an error if the owner is empty, has more than 1,024 bytes, or begins with "min-hold:".
func (l *Locker) Reentrant(name, owner string) *Reentrant { return &Reentrant{l, name, owner} }

// Lock acquires a hold, as [Locker.Lock] does. It waits for every other holder of the name, but not for holds of the
// same owner.
func (r *Reentrant) Lock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return r.locker.lock(ctx, r.target(), false, opts)
}

// TryLock acquires a hold, as [Locker.TryLock] does.
func (r *Reentrant) TryLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return r.locker.lock(ctx, r.target(), true, opts)
}

func (r *Reentrant) target() kind.Target {
	return kind.Target{Kind: kind.Reentrant, Names: []string{r.name}, Owner: r.owner}
}
