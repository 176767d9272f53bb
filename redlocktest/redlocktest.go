package redlocktest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/seam"
)

// A Master is one in-process Redis master. Its methods may be called from any goroutine; after [StartVirtual], from any
// goroutine of the bubble. A method has taken effect when it returns, or, for Hold, Release and Wipe of a frozen
// master, at the thaw. A call that has nothing to change does nothing. After the test has ended, every method except
// URL does nothing.
type Master struct {
	t  testing.TB
	in *embedded.Master
}

// Start runs n empty masters until t ends. They report an uptime of 30 days, so that each may vote at once. Start fails
// t immediately if n is below 1 or a master cannot be started. n may be even: a test may have a use for two masters.
//
// In a bubble of testing/synctest, Start does what [StartVirtual] does.
func Start(t testing.TB, n int) []*Master {
	t.Helper()
	if inBubble() {
		return StartVirtual(t, n)
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

// NewLocker is like [StartLocker], for a test that does not need the masters.
func NewLocker(t testing.TB, n int, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	locker, _ := StartLocker(t, n, opts...)
	return locker
}

// StartLocker starts n masters, as [Start] does, and opens a Locker over them with opts. When t ends, it closes the
// Locker and then the masters. It fails t immediately if n or an option is invalid: n must be 1, or odd and at least 3.
//
// Unless opts have a [redlock.WithMaxTTL], a call may have a TTL or minimum hold of up to a minute, even if those of
// opts are shorter. A master that was stopped and started again does not vote for that time.
func StartLocker(t testing.TB, n int, opts ...redlock.Option) (*redlock.Locker, []*Master) {
	t.Helper()
	masters := Start(t, n)
	roomy := seam.Option(seam.Hooks{MaxTTL: time.Minute}).(redlock.Option)
	locker, err := redlock.Open(URLs(masters), append([]redlock.Option{roomy}, opts...)...)
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

// URLs returns the URLs of masters, in the same order, for [redlock.Open].
func URLs(masters []*Master) []string {
	urls := make([]string, len(masters))
	for i, m := range masters {
		urls[i] = m.URL()
	}
	return urls
}

// URL returns the master's redis:// URL. It stays the same across Stop and Start.
func (m *Master) URL() string { return m.in.URL() }

// Stop crashes the master, even if it is frozen: its connections close, its port refuses connections, and its data is
// lost.
func (m *Master) Stop() { m.in.Stop() }

// Start restarts a stopped master on the same port, empty, with a new run id and an uptime of zero. As with a real
// master, the restart guard keeps it from voting for the restart window (see [redlock.WithMaxTTL]) and up to two more
// seconds. It marks t as failed if another process has taken the port.
func (m *Master) Start() {
	m.t.Helper()
	if err := m.in.Start(); err != nil && !errors.Is(err, embedded.ErrClosed) {
		m.t.Errorf("redlocktest: starting a master again: %v", err)
	}
}

// Freeze stops the master as SIGSTOP stops a process: connections stay open and new ones are accepted, but the master
// executes and answers nothing. [Master.Thaw] makes it execute what it was sent in the meantime.
func (m *Master) Freeze() { m.in.Freeze() }

// Thaw resumes a frozen master.
func (m *Master) Thaw() { m.in.Thaw() }

// Slow delays everything that the master sends by d, on existing and on new connections; 0 ends the delay. If d is
// above the node timeout, a Locker does not get the master's vote, though the master executes the command. The delay
// stays in effect across Stop and Start.
func (m *Master) Slow(d time.Duration) { m.in.Slow(d) }

// Refuse makes the master answer every command with the error reply text, such as "OOM command not allowed", and
// execute none, until Refuse("") ends it. That includes the commands that open a connection: with "WRONGPASS invalid
// username-password pair" a Locker fails as with a wrong password, whether or not it is already connected. It stays in
// effect across Stop and Start. text must be one line; otherwise Refuse marks the test as failed and changes nothing.
func (m *Master) Refuse(text string) {
	m.t.Helper()
	if strings.ContainsAny(text, "\r\n") {
		m.t.Errorf("redlocktest: Refuse(%q): an error reply is one line", text)
		return
	}
	m.in.Refuse(text)
}

// Hold makes another client hold name on this master for ttl, or forever if ttl is not positive. The other client
// replaces any holder on this master, even a lock of the test. It has the lock once Hold was called on a majority of
// the masters. It holds the name with a mutex, as from [redlock.Locker.Lock]. On a frozen master Hold takes effect at
// the thaw; on a stopped one it does nothing.
func (m *Master) Hold(name string, ttl time.Duration) { m.in.Set(name, otherToken, ttl) }

// Release frees name on this master from any holder, and publishes the release. Waiters are woken once Release was
// called on a majority of the masters, as by an Unlock. On a frozen master Release takes effect at the thaw.
func (m *Master) Release(name string) { m.in.Del(name, channelPrefix+name, "") }

const (
	// otherToken is the token that Hold sets. Like a real holder's token, it is the same on every master.
	otherToken = "somebody else:00000000000000000000000000000000"
	// channelPrefix, followed by a name, is the channel on which releases of the name are published.
	channelPrefix = "redlock:"
)

// Wipe deletes all data of the master, like FLUSHALL or an eviction. There is no restart, so the restart guard cannot
// notice the loss. On a frozen master Wipe takes effect at the thaw.
func (m *Master) Wipe() { m.in.Wipe() }
