// Package kinds is the harness's table of the kinds of locks, and the interface between the traffic and any lock: the
// lock under test, or the same broken on purpose. The traffic, the simulation and the checkers read the table, so a new
// kind is a new row.
package kinds

import (
	"cmp"
	"context"
	"errors"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
)

// The names of the kinds, as they stand in groups, requests and histories. "" is a mutex too.
const (
	Mutex     = "mutex"
	Reader    = "reader"
	Writer    = "writer"
	Reentrant = "reentrant"
	Several   = "several"
	Semaphore = "semaphore"
	Leader    = "leader"
)

// Sharing says which holders may hold a name at the same time.
type Sharing int

// The values of [Kind.Shares].
const (
	Alone     Sharing = iota // a hold excludes all others
	WithAll                  // any number of holds of the kind; their holders only read what the lock protects
	WithOwner                // the holds of one owner, which share a fencing token
	BySlot                   // as many holds as the name has slots
)

// Kind is a kind of lock.
type Kind struct {
	Name   string
	Shares Sharing
	// Several is true if a lock has several names.
	Several bool

	// methods returns the method that waits for a lock, and the one that only tries.
	methods func(l *redlock.Locker, t Request) (method, method)
}

// method is a method of the library that acquires a lock.
type method = func(context.Context, ...redlock.LockOption) (*redlock.Lock, error)

var table = []Kind{
	{Name: Mutex, methods: func(l *redlock.Locker, t Request) (method, method) {
		return bind(l.Lock, t.Names[0]), bind(l.TryLock, t.Names[0])
	}},
	{Name: Reader, Shares: WithAll, methods: func(l *redlock.Locker, t Request) (method, method) {
		rw := l.RW(t.Names[0])
		return rw.RLock, rw.TryRLock
	}},
	{Name: Writer, methods: func(l *redlock.Locker, t Request) (method, method) {
		rw := l.RW(t.Names[0])
		return rw.Lock, rw.TryLock
	}},
	{Name: Reentrant, Shares: WithOwner, methods: func(l *redlock.Locker, t Request) (method, method) {
		re := l.Reentrant(t.Names[0], t.Owner)
		return re.Lock, re.TryLock
	}},
	{Name: Several, Several: true, methods: func(l *redlock.Locker, t Request) (method, method) {
		return bind(l.LockAll, t.Names), bind(l.TryLockAll, t.Names)
	}},
	{Name: Semaphore, Shares: BySlot, methods: func(l *redlock.Locker, t Request) (method, method) {
		s := l.Semaphore(t.Names[0], t.Slots)
		return s.Acquire, s.TryAcquire
	}},
	{Name: Leader, methods: func(l *redlock.Locker, t Request) (method, method) {
		campaign := campaign(l, t.Names[0])
		return campaign, campaign
	}},
}

// campaign returns a method that waits to lead. The lock is the leader's mutex.
func campaign(l *redlock.Locker, name string) method {
	return func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error) {
		leadership, err := election.New(l, name, opts...).Campaign(ctx)
		if err != nil {
			return nil, err
		}
		lock, ok := redlock.FromContext(leadership.Context())
		if !ok {
			return nil, errors.New("the context of a leadership has no lock")
		}
		return lock, nil
	}
}

// bind returns a method that locks what.
func bind[T any](lock func(context.Context, T, ...redlock.LockOption) (*redlock.Lock, error), what T) method {
	return func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error) {
		return lock(ctx, what, opts...)
	}
}

// Names returns the names of all kinds.
func Names() []string {
	names := make([]string, len(table))
	for i, k := range table {
		names[i] = k.Name
	}
	return names
}

// Of returns the kind of that name. An unknown kind has no name, and excludes all others.
func Of(name string) Kind {
	for _, k := range table {
		if k.Name == cmp.Or(name, Mutex) {
			return k
		}
	}
	return Kind{}
}

// Reads reports whether holders only read what the lock protects.
func (k Kind) Reads() bool { return k.Shares == WithAll }

// Owned reports whether locks of the kind have an owner.
func (k Kind) Owned() bool { return k.Shares == WithOwner }

// Slotted reports whether locks of the kind have a number of slots.
func (k Kind) Slotted() bool { return k.Shares == BySlot }

// Elected reports whether a lock of the kind is that of an elected leader. It always has a fencing token, the term of
// the leader, and nobody can only try to acquire it.
func (k Kind) Elected() bool { return k.Name == Leader }
