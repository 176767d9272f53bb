// Package gooselock is a session locker for goose (github.com/pressly/goose/v3): if several machines start with the
// same migrations, one machine applies them and the others wait. It works for every database, including those for which
// goose has no locker, such as SQLite and ClickHouse.
//
//	provider, err := goose.NewProvider(dialect, db, migrations,
//		goose.WithSessionLocker(gooselock.New(locker, "migrate:orders")))
//	results, err := provider.Up(ctx)
package gooselock

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/pressly/goose/v3/lock"

	"github.com/redlock-go/redlock"
)

// SessionLocker is goose's lock.SessionLocker. It is safe for concurrent use.
type SessionLocker struct {
	locker *redlock.Locker
	name   string
	opts   []redlock.LockOption

	mu   sync.Mutex
	held map[*sql.Conn]*redlock.Lock
}

var _ lock.SessionLocker = (*SessionLocker)(nil)

// New returns a SessionLocker that locks name, with these options. Let name include the database's: migrations of two
// databases need not wait for each other.
func New(locker *redlock.Locker, name string, opts ...redlock.LockOption) *SessionLocker {
	return &SessionLocker{locker: locker, name: name, opts: opts, held: make(map[*sql.Conn]*redlock.Lock)}
}

// SessionLock waits for the lock as [redlock.Locker.Lock] does. goose calls it before a migration. conn only identifies
// the lock for SessionUnlock.
func (s *SessionLocker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if s.at(conn) != nil {
		return fmt.Errorf("gooselock: %q: this connection has locked already: call SessionUnlock before", s.name)
	}
	l, err := s.locker.Lock(ctx, s.name, s.opts...)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[conn] = l
	return nil
}

// SessionUnlock unlocks, with the errors of [redlock.Lock.Unlock]. goose calls it after a migration, and returns its
// error. [redlock.ErrLost] means that another machine may have migrated at the same time: goose cannot stop a migration
// whose lock is lost.
func (s *SessionLocker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	l := s.at(conn)
	if l == nil {
		return fmt.Errorf("gooselock: %q: this connection has not locked: %w", s.name, redlock.ErrReleased)
	}
	s.mu.Lock()
	delete(s.held, conn)
	s.mu.Unlock()
	return l.Unlock(ctx)
}

// at returns the lock of a connection; nil if it has none.
func (s *SessionLocker) at(conn *sql.Conn) *redlock.Lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[conn]
}
