package proxy

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/testmain"
	"github.com/redlock-go/redlock/internal/testnet"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const soon = 20 * time.Second // longer than anything here takes on a busy machine

// echo is a server that sends back what it gets, and counts its connections.
type echo struct {
	addr string
	open atomic.Int32
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	e := &echo{}
	e.addr = testnet.Serve(t, func(c net.Conn) {
		e.open.Add(1)
		defer e.open.Add(-1)
		_, _ = io.Copy(c, c)
	})
	return e
}

func (e *echo) proxied(t *testing.T) *Proxy {
	t.Helper()
	p, err := New(e.addr)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// says reports whether a connection passes a few bytes there and back.
func says(c net.Conn) error {
	const text = "hello"
	if err := c.SetDeadline(time.Now().Add(soon)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != text {
		return fmt.Errorf("%q came back", got)
	}
	return nil
}

var all = []faults.Condition{
	faults.Fine, faults.Slow, faults.Jittery, faults.Trickling, faults.Resetting, faults.Cut, faults.Silent,
	faults.NoCommands, faults.NoAnswers,
}

// From every condition the way to every other one is open, with traffic under way, and the way back.
func TestEveryConditionFollowsEveryOther(t *testing.T) {
	t.Parallel()
	for _, from := range all {
		t.Run(string(from), func(t *testing.T) {
			t.Parallel()
			p := newEcho(t).proxied(t)
			for _, to := range all {
				busy := dial(t, p)
				require.NoError(t, says(busy))
				for _, c := range []faults.Condition{from, to, faults.Fine} {
					_, _ = io.WriteString(busy, "is anybody there?")
					require.NoError(t, p.Set(c))
				}
				require.NoError(t, says(dial(t, p)), "%s, then %s", from, to)
				require.NoError(t, busy.Close())
			}
		})
	}
}

// A connection that is only slowed down is not broken.
func TestAConnectionEndsWithTheCondition(t *testing.T) {
	t.Parallel()
	for c, loses := range map[faults.Condition]bool{
		faults.Slow: false, faults.Jittery: false, faults.Trickling: false, faults.Silent: true, faults.NoCommands: true,
		faults.NoAnswers: true,
	} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			p := newEcho(t).proxied(t)
			conn := dial(t, p)
			require.NoError(t, says(conn))
			require.NoError(t, p.Set(c))
			if !loses {
				require.NoError(t, says(conn))
			}
			_, err := io.WriteString(conn, "lost")
			require.NoError(t, err)
			require.NoError(t, p.Set(faults.Fine))
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(soon)))
			got, err := io.ReadAll(conn)
			if loses {
				assert.Empty(t, got)
			}
			if err != nil {
				assert.ErrorContains(t, err, "reset", "ended, not silent")
			}
		})
	}
}

// What a client has closed must not look like a leaked connection on the master.
func TestAConnectionThatIsClosedIsClosedOnTheOtherSide(t *testing.T) {
	t.Parallel()
	for _, c := range all {
		if c == faults.Cut {
			continue // there are none
		}
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			e := newEcho(t)
			p := e.proxied(t)
			conn := dial(t, p)
			require.NoError(t, says(conn))
			require.NoError(t, p.Set(c))
			require.NoError(t, conn.Close())
			require.Eventually(t, func() bool { return e.open.Load() == 0 }, soon, 5*time.Millisecond)
		})
	}
}

func TestAClosedProxyCannotBeChanged(t *testing.T) {
	t.Parallel()
	p := newEcho(t).proxied(t)
	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "a second Close does nothing")
	require.ErrorContains(t, p.Set(faults.Slow), "closed")
}

func TestACutLinkRefusesConnectionsAndKeepsItsPort(t *testing.T) {
	t.Parallel()
	p := newEcho(t).proxied(t)
	addr := p.Addr()
	for range 3 {
		require.NoError(t, p.Set(faults.Cut))
		_, err := net.Dial("tcp", p.Addr())
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		require.NoError(t, p.Set(faults.Fine))
		require.NoError(t, says(dial(t, p)))
	}
	assert.Equal(t, addr, p.Addr())
	require.NoError(t, p.Close())
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

// withoutPort returns a proxy that is cut, and a listener that has its port.
func withoutPort(t *testing.T) (*Proxy, net.Listener) {
	t.Helper()
	p := newEcho(t).proxied(t)
	require.NoError(t, p.Set(faults.Cut))
	l, err := net.Listen("tcp", p.Addr())
	require.NoError(t, err)
	return p, l
}

// A forked process has copies of listeners that are closed here, until it executes its program.
func TestAProxyWaitsForItsPort(t *testing.T) {
	t.Parallel()
	p, l := withoutPort(t)
	time.AfterFunc(50*time.Millisecond, func() { _ = l.Close() })
	require.NoError(t, p.Set(faults.Fine))
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

func TestAProxyThatLostItsPortIsNeverFine(t *testing.T) {
	t.Parallel()
	p, l := withoutPort(t)
	require.ErrorContains(t, p.Set(faults.Fine), "address already in use")
	require.NoError(t, l.Close())
	require.Error(t, p.Set(faults.Fine), "it does not listen")
	require.Error(t, p.Set(faults.Slow))
}

func TestAChangeThatGetsStuckIsAnErrorAndNotTheEnd(t *testing.T) {
	t.Parallel()
	p, err := New("127.0.0.1:1")
	require.NoError(t, err)
	p.patience = 10 * time.Millisecond
	held := p.proxy.Toxics
	held.Lock()
	defer held.Unlock()
	require.ErrorContains(t, p.Set(faults.Slow), `from "fine" to "slow"`)
	require.ErrorContains(t, p.Set(faults.Fine), "play the scenario again", "it is not to be trusted any more")
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
}
