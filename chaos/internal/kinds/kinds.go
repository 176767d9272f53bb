// Package kinds is the harness's table of the kinds of locks. The traffic, the simulation and the checkers read it, so
// a new kind is a new row.
package kinds

import (
	"context"

	"github.com/redlock-go/redlock"
)

// The names of the kinds, as they stand in groups, requests and histories. "" is a mutex too.
const (
	Mutex     = "mutex"
	Reader    = "reader"
	Writer    = "writer"
	Reentrant = "reentrant"
	Several   = "several"
)

// Sharing says which holders may hold a name at the same time.
type Sharing int

// The values of [Kind.Shares].
const (
	Alone     Sharing = iota // a hold excludes all others
	WithAll                  // any number of holds of the kind; their holders only read what the lock protects
	WithOwner                // the holds of one owner, which share a fencing token
)

// Kind is a kind of lock.
type Kind struct {
	Name   string
	Shares Sharing
	// Several is true if a lock has several names.
	Several bool

	// methods returns the method that waits for a lock, and the one that only tries.
	methods func(l *redlock.Locker, names []string, owner string) (Method, Method)
}

// Method is a method of the library that acquires a lock.
type Method = func(context.Context, ...redlock.LockOption) (*redlock.Lock, error)

var table = []Kind{
	{Name: Mutex, methods: func(l *redlock.Locker, names []string, _ string) (Method, Method) {
		return bind(l.Lock, names[0]), bind(l.TryLock, names[0])
	}},
	{Name: Reader, Shares: WithAll, methods: func(l *redlock.Locker, names []string, _ string) (Method, Method) {
		rw := l.RW(names[0])
		return rw.RLock, rw.TryRLock
	}},
	{Name: Writer, methods: func(l *redlock.Locker, names []string, _ string) (Method, Method) {
		rw := l.RW(names[0])
		return rw.Lock, rw.TryLock
	}},
	{Name: Reentrant, Shares: WithOwner, methods: func(l *redlock.Locker, names []string, owner string) (Method, Method) {
		re := l.Reentrant(names[0], owner)
		return re.Lock, re.TryLock
	}},
	{Name: Several, Several: true, methods: func(l *redlock.Locker, names []string, _ string) (Method, Method) {
		return bind(l.LockAll, names), bind(l.TryLockAll, names)
	}},
}

// bind returns a method that locks what.
func bind[T any](lock func(context.Context, T, ...redlock.LockOption) (*redlock.Lock, error), what T) Method {
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

// Lookup returns the kind of that name.
func Lookup(name string) (Kind, bool) {
	if name == "" {
		name = Mutex
	}
	for _, k := range table {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Of returns the kind of that name. An unknown kind excludes all others.
func Of(name string) Kind {
	k, _ := Lookup(name)
	return k
}

// Reads reports whether holders only read what the lock protects.
func (k Kind) Reads() bool { return k.Shares == WithAll }

// Owned reports whether locks of the kind have an owner.
func (k Kind) Owned() bool { return k.Shares == WithOwner }

// Method returns the method that acquires the lock, or only tries to.
func (k Kind) Method(l *redlock.Locker, names []string, owner string, try bool) Method {
	lock, once := k.methods(l, names, owner)
	if try {
		return once
	}
	return lock
}
