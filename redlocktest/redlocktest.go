package redlocktest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/embedded"
)

// A Master is one in-process Redis master. Its methods may be called from any goroutine (of the bubble, after
// [StartVirtual]), and have taken effect when they return. Calling one that has nothing to change does nothing, and so
// does any but URL after the test has ended.
type Master struct {
	t  testing.TB
	in backend
}

// Start runs n empty masters until t ends. Their reported uptime is 30 days, so that each may vote at once. It fails t
// at once if n is below 1 or a master cannot be started; n is otherwise not checked, as there is something to test in
// two masters, too. It fails t as well in a bubble of testing/synctest, where a test would wait for its sockets
// without an end: use [StartVirtual] there.
func Start(t testing.TB, n int) []*Master {
	t.Helper()
	if inBubble() {
		t.Fatalf("redlocktest: Start and its sockets do not work in a bubble of testing/synctest: use StartVirtual")
	}
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

// NewLocker is [StartLocker] for a test that needs no master.
func NewLocker(t testing.TB, n int, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	locker, _ := StartLocker(t, n, opts...)
	return locker
}

// StartLocker starts n masters, as [Start] does, and opens a Locker over them with opts. All are closed when t ends,
// the Locker first. It fails t at once if n or an option is invalid: n must be 1, or odd and at least 3.
func StartLocker(t testing.TB, n int, opts ...redlock.Option) (*redlock.Locker, []*Master) {
	t.Helper()
	masters := Start(t, n)
	locker, err := redlock.Open(URLs(masters), opts...)
	if err != nil {
		t.Fatalf("redlocktest: %v", err)
	}
	t.Cleanup(func() {
		if err := locker.Close(); err != nil {
			t.Logf("redlocktest: closing the locker: %v", err)
		}
	})
	return locker, masters
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

// Slow makes everything that the master sends arrive d later, on connections that exist and on new ones; 0 ends it. A
// delay above the node timeout costs a Locker the master's vote, though the master executes what it was asked. It
// outlasts Stop and Start.
func (m *Master) Slow(d time.Duration) { m.in.Slow(d) }

// Refuse has the master answer every command with the error reply text, such as "OOM command not allowed", and execute
// none, until Refuse("") ends it. So it is for the commands that open a connection: with "WRONGPASS invalid
// username-password pair" a Locker fails as with a wrong password, whether it is connected already or not. It outlasts
// Stop and Start. text must be one line; otherwise Refuse marks the test as failed and changes nothing.
func (m *Master) Refuse(text string) {
	m.t.Helper()
	if strings.ContainsAny(text, "\r\n") {
		m.t.Errorf("redlocktest: Refuse(%q): an error reply is one line", text)
		return
	}
	m.in.Refuse(text)
}

// Hold has somebody else hold the name on this master for ttl, or without an end if ttl is not positive, whoever held
// it before: a lock of the test's own loses this master. A name is held by somebody else when a majority of the
// masters say so. It is held as by Locker.Lock; a frozen master takes it as it thaws, a stopped one does not.
func (m *Master) Hold(name string, ttl time.Duration) { m.in.Set(name, somebody, ttl) }

// Release frees the name on this master, whoever holds it, and wakes those who wait for it, as an Unlock does when a
// majority of the masters say so. A frozen master does it as it thaws.
func (m *Master) Release(name string) { m.in.Del(name, channelPrefix+name, "") }

const (
	// somebody is the token of Hold. It is the same on every master, as a holder's is.
	somebody = "somebody else:00000000000000000000000000000000"
	// channelPrefix and a name make the channel on which the name's release is published.
	channelPrefix = "redlock:"
)

// Wipe loses all of the master's data and leaves no trace of it, like FLUSHALL or an eviction: the one loss that a
// restart guard cannot see. A frozen master loses what it holds as it thaws.
func (m *Master) Wipe() { m.in.Wipe() }
