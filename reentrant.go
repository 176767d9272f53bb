package redlock

import "context"

// Reentrant is a lock that its owner may take again. See [Locker.Reentrant].
type Reentrant struct {
	locker      *Locker
	name, owner string
}

// Reentrant returns the reentrant lock of a name for an owner. It sends nothing. Go has no thread identity, so the owner
// is a name that those who may share the lock agree on: a worker, a request, a transaction. Whoever uses it may lock again
// while any of them holds the lock, from any goroutine and any process, and never waits behind a stranger for it.
//
// Every Lock is a hold of its own, with its own TTL and keepalive, and needs its own Unlock; the name is free when
// the last hold has ended. So an owner whose holds overlap without a gap keeps strangers out for as long. An empty owner, or
// one of more than 1,024 bytes, is an error of Lock.
func (l *Locker) Reentrant(name, owner string) *Reentrant { return &Reentrant{l, name, owner} }

// Lock takes a hold, as [Locker.Lock] does. It waits for other owners only.
func (r *Reentrant) Lock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return r.locker.lock(ctx, r.target(), false, opts)
}

// TryLock takes a hold, as [Locker.TryLock] does.
func (r *Reentrant) TryLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return r.locker.lock(ctx, r.target(), true, opts)
}

func (r *Reentrant) target() target {
	return target{kind: kindReentrant, names: []string{r.name}, owner: r.owner}
}

// Depth is how many live holds the owner of a reentrant lock has at the moment. It asks the masters, for a node timeout at
// most, and counts the distinct holds that those which answer know of. While a Lock or Unlock of the owner is under way it
// may count either way. Where no majority answers it is 1, the hold at hand, and once that has ended it is 0. For every
// other kind it is always 1.
func (l *Lock) Depth() int {
	if l.kind() != kindReentrant {
		return 1
	}
	if l.Err() != nil {
		return 0
	}
	n, err := l.locker.depth(context.Background(), l.name, l.token)
	if err != nil {
		return 1
	}
	return max(1, n)
}

// depth counts the distinct live holds of a token's owner, wherever they are: each may sit on a majority of its own.
func (l *Locker) depth(ctx context.Context, name, token string) (int, error) {
	answers, err := l.read(ctx, name)
	if err != nil {
		return 0, err
	}
	live := make(map[string]bool)
	for _, an := range answers {
		if seen, ok := sightingOf(an); ok && seen.kind == kindReentrant {
			for _, one := range seen.holds {
				if ownerOf(one.token) == ownerOf(token) {
					live[one.token] = true
				}
			}
		}
	}
	return len(live), nil
}
