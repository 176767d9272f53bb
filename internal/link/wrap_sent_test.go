package link_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/testnet"
)

// netPath is the network between a wrapped client and a scripted server. A test may change its faults at any time.
type netPath struct {
	testnet.Scripted
	refused atomic.Bool  // dials fail
	cut     atomic.Int64 // a write ends after so many bytes, with a reset; 0: it does not
	resets  atomic.Bool  // the end of a connection is a reset
}

func (l *netPath) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if l.refused.Load() {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	c, err := l.Scripted.Dial(ctx, network, addr)
	return pathConn{c, l}, err
}

type pathConn struct {
	net.Conn
	netPath *netPath
}

func (c pathConn) Write(p []byte) (int, error) {
	most := int(c.netPath.cut.Load())
	if most == 0 {
		return c.Conn.Write(p)
	}
	n, _ := c.Conn.Write(p[:min(most, len(p))])
	_ = c.Conn.Close()
	return n, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
}

func (c pathConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && c.netPath.resets.Load() {
		err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return n, err
}

// onPath runs f with a wrapped client of a scripted server, which answers +OK to commands that do not name "a".
func onPath(t *testing.T, adjust func(*redis.Options), f func(t *testing.T, l *netPath, c *redis.Client)) {
	t.Helper()
	l := &netPath{}
	l.Answer = func(args []string) (string, bool) { return standard(args), false }
	// After a failed dial, the client's pool tries again once a second until it is closed.
	t.Cleanup(func() { time.Sleep(2 * time.Second) })
	f(t, l, testnet.Client(t, "10.9.9.9:6379", l.dial, func(o *redis.Options) {
		o.PoolSize, o.PoolTimeout = 1, 10*time.Millisecond
		if adjust != nil {
			adjust(o)
		}
	}))
}

func standard(args []string) string {
	switch strings.ToLower(args[0]) {
	case "ping":
		return "+PONG\r\n"
	case "evalsha":
		return "-NOSCRIPT No matching script\r\n"
	default:
		return "+OK\r\n"
	}
}

// answers replies to a command about the name "a" with reply, and then ends the connection if hangUp is set.
func (l *netPath) answers(reply string, hangUp bool) {
	l.Answer = func(args []string) (string, bool) {
		if len(args) > 1 && args[1] == "a" {
			return reply, hangUp
		}
		return standard(args), false
	}
}

// A client that had no connection sent nothing. If it wrote something, the master may have executed it.
func TestWhatAWrappedClientHasNotSent(t *testing.T) {
	t.Parallel()
	// noneIdle makes the next batch need a new connection.
	noneIdle := func(o *redis.Options) { o.ConnMaxIdleTime = 100 * time.Millisecond }
	hangsUpAfter := func(reply string) func(*netPath) {
		return func(l *netPath) { l.answers(reply, true) }
	}
	resetsAfter := func(reply string) func(*netPath) {
		return func(l *netPath) { l.resets.Store(true); l.answers(reply, true) }
	}
	type testCase struct {
		adjust func(*redis.Options)
		fault  func(l *netPath)
		lent   bool // the only connection is in use
		unsent bool
		is     error
		real   bool // in real time: go-redis keeps the timers of this wait for all clients of the process
	}
	testmain.Each(t, map[string]testCase{
		"the dial is refused": {
			adjust: noneIdle, unsent: true, is: syscall.ECONNREFUSED,
			fault: func(l *netPath) { l.refused.Store(true) },
		},
		"the handshake is refused": {
			adjust: func(o *redis.Options) { noneIdle(o); o.Password = "secret" }, unsent: true,
			fault: func(l *netPath) {
				l.Answer = func(args []string) (string, bool) {
					if strings.EqualFold(args[0], "auth") {
						return "-WRONGPASS invalid username-password pair or user is disabled.\r\n", false
					}
					return standard(args), false
				}
			},
		},
		"the pool has no connection in time": {lent: true, unsent: true, is: redis.ErrPoolTimeout, real: true},
		"the pool may make no connection": {
			adjust: func(o *redis.Options) { o.PoolSize, o.MaxActiveConns = 2, 1 },
			lent:   true, unsent: true, is: redis.ErrPoolExhausted,
		},
		"a write is cut off":               {is: syscall.EPIPE, fault: func(l *netPath) { l.cut.Store(60) }},
		"a reset after the server read it": {is: syscall.ECONNRESET, fault: resetsAfter("")},
		"an end after the server read it":  {fault: hangsUpAfter("")},
		"an end inside a status":           {fault: hangsUpAfter("+O")},
		"an end inside a string":           {fault: hangsUpAfter("$2\r\nO")},
		"an end inside a list":             {fault: hangsUpAfter("*2\r\n+OK\r\n")},
		"a reset inside a list of numbers": {fault: resetsAfter("*2\r\n:1\r\n")},
		"no answer":                        {fault: func(l *netPath) { l.answers("", false) }},
	}, func(t *testing.T, tc testCase) {
		test := func(t *testing.T) {
			t.Helper()
			onPath(t, tc.adjust, func(t *testing.T, path *netPath, client *redis.Client) {
				t.Helper()
				l := dial(t, wrapped(t, client))
				require.Equal(t, link.Reply{Value: "OK"}, send(l, set("b"))[0])
				if !tc.real {
					time.Sleep(500 * time.Millisecond)
				}
				if tc.lent {
					conn := client.Conn()
					require.NoError(t, conn.Ping(t.Context()).Err())
					t.Cleanup(func() { _ = conn.Close() })
				} else {
					tc.fault(path)
				}
				r := send(l, set("a"))[0]
				require.Error(t, r.Err)
				if tc.is != nil {
					require.ErrorIs(t, r.Err, tc.is)
				}
				want := link.InDoubt
				if tc.unsent {
					want = link.NotSent
				}
				assert.Equal(t, want, r.Result, "%v", r.Err)
			})
		}
		if tc.real {
			test(t)
		} else {
			synctest.Test(t, test)
		}
	})
}
