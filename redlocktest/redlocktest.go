// Package redlocktest gives unit tests the masters that a lock needs, without Docker and without a Redis.
//
// One line is enough for code that takes a [redlock.Locker]:
//
//	locker := redlocktest.NewLocker(t, 5)
//
// A test that wants to see what its code does when masters fail starts them itself, and lets them fail:
//
//	masters := redlocktest.Start(t, 5)
//	locker, err := redlock.Open(redlocktest.URLs(masters))
//	…
//	masters[0].Stop()
//	masters[1].Freeze()
//
// The masters run in the test's process and listen on loopback sockets. They know what the locks of this project ask of
// a Redis, and expire keys by the clock. They are doubles: with many thousand keys, or to measure anything, use real
// ones.
package redlocktest

import (
	"errors"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/embedded"
)

// A Master is one in-process Redis master. Its methods may be called from any goroutine, and have taken effect when they
// return. Calling one that has nothing to change does nothing, and so does any but URL after the test has ended.
type Master struct {
	t  testing.TB
	in *embedded.Master
}

// Start runs n empty masters until t ends. Their reported uptime is 30 days, so that each may vote at once. It fails t at
// once if n is below 1 or a master cannot be started; n is otherwise not checked, as there is something to test in two
// masters, too.
func Start(t testing.TB, n int) []*Master {
	t.Helper()
	all, err := embedded.OpenAll(n)
	if err != nil {
		t.Fatalf("redlocktest: %v", err)
	}
	t.Cleanup(func() { embedded.CloseAll(all) })
	masters := make([]*Master, n)
	for i, in := range all {
		masters[i] = &Master{t: t, in: in}
	}
	return masters
}

// NewLocker runs n masters and opens a Locker over them with opts. Both are closed when t ends, the Locker first. It
// fails t at once if n or an option is invalid: n must be 1, or odd and at least 3.
func NewLocker(t testing.TB, n int, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	locker, err := redlock.Open(URLs(Start(t, n)), opts...)
	if err != nil {
		t.Fatalf("redlocktest: %v", err)
	}
	t.Cleanup(func() {
		if err := locker.Close(); err != nil {
			t.Logf("redlocktest: closing the locker: %v", err)
		}
	})
	return locker
}

// URLs returns the masters' URLs, in their order, for [redlock.Open].
func URLs(masters []*Master) []string {
	urls := make([]string, len(masters))
	for i, m := range masters {
		urls[i] = m.URL()
	}
	return urls
}

// URL returns the master's redis:// URL. It stays the same across Stop and Start.
func (m *Master) URL() string { return m.in.URL() }

// Stop crashes the master: its connections close, its port refuses, and its data is gone for good. It may be frozen.
func (m *Master) Stop() { m.in.Stop() }

// Start brings a stopped master back on the same port, empty, with a new run id and an uptime of zero. As with a real
// one, the restart guard keeps it from voting until the restart window (the TTL, by default) and up to two seconds have
// passed. It marks t as failed if the port has been taken meanwhile.
func (m *Master) Start() {
	m.t.Helper()
	if err := m.in.Start(); err != nil && !errors.Is(err, embedded.ErrClosed) {
		m.t.Errorf("redlocktest: starting a master again: %v", err)
	}
}

// Freeze stops the master as SIGSTOP stops a process: connections stay open and new ones are taken, but nothing is
// executed or answered until [Master.Thaw], and what was sent meanwhile is executed then.
func (m *Master) Freeze() { m.in.Freeze() }

// Thaw lets a frozen master go on.
func (m *Master) Thaw() { m.in.Thaw() }

// Wipe loses all of the master's data and leaves no trace of it, like FLUSHALL or an eviction: the one loss that a
// restart guard cannot see. A frozen master loses what it holds as it thaws.
func (m *Master) Wipe() { m.in.Wipe() }
