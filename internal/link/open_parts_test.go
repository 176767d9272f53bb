package link

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/node"
)

func TestTheTimeoutOfAConnectionFollowsItsDuration(t *testing.T) {
	t.Parallel()
	d := new(dialer)
	assert.Equal(t, connectTimeout, d.attemptTimeout())
	d.observeDial(0, errBroken)
	assert.Equal(t, connectTimeout, d.attemptTimeout(), "not a timeout")
	d.observeDial(0, node.ErrTimeout)
	assert.Equal(t, 2*connectTimeout, d.attemptTimeout())
	for range 20 {
		d.observeDial(0, node.ErrTimeout)
	}
	assert.Equal(t, connectTimeoutMax, d.attemptTimeout())
	d.observeDial(connectTimeout, nil)
	assert.Equal(t, 4*connectTimeout, d.attemptTimeout())
	d.observeDial(connectTimeoutMax/2, nil)
	assert.Equal(t, connectTimeoutMax, d.attemptTimeout(), "otherwise it could grow at each attempt")
	d.observeDial(connectTimeout/8, nil)
	assert.Equal(t, connectTimeout, d.attemptTimeout())
	d.observeDial(0, node.ErrTimeout)
	assert.Equal(t, connectTimeout, d.attemptTimeout(), "an attempt has succeeded before")

	d.skipRightCheck = true
	d.observeDial(0, nil)
	assert.True(t, d.skipRightCheck)
	d.observeDial(0, errBroken)
	assert.False(t, d.skipRightCheck, "not the check ended the connection")
}

func TestTheContextOfAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{clock: clock.System}
		over, cancel := d.withTimeout(t.Context(), time.Second)
		defer cancel()
		ended, cancel := d.withTimeout(t.Context(), time.Second)
		cancel()
		time.Sleep(time.Second)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(over), context.DeadlineExceeded)
		assert.ErrorIs(t, context.Cause(ended), context.Canceled)
	})
}

// fakeConn is a connection that has broken.
type fakeConn struct {
	net.Conn
	err    error // of Read and Write
	linger int
	closed atomic.Bool
}

func (c *fakeConn) Read([]byte) (int, error) { return 0, c.err }

func (c *fakeConn) Write([]byte) (int, error) { return 0, c.err }

func (c *fakeConn) SetWriteDeadline(time.Time) error { return nil }

func (c *fakeConn) Close() error { c.closed.Store(true); return nil }

func (c *fakeConn) SetLinger(seconds int) error {
	c.linger = seconds
	return nil
}

// What the kernel has not sent must not arrive after a release that went over a later connection.
func TestClosingAConnectionDiscardsWhatWasNotSent(t *testing.T) {
	t.Parallel()
	c := &fakeConn{linger: -1}
	dial := func(context.Context, string, string) (net.Conn, error) { return c, nil }
	d := &dialer{options: &redis.Options{}, dial: dial}
	conn, err := d.connect(t.Context())
	require.NoError(t, err)
	assert.Same(t, c, conn)
	assert.Zero(t, c.linger)
}

// The node may be closed at the end of a handshake.
func TestAnAttemptThatEndsWithItsHandshake(t *testing.T) {
	t.Parallel()
	c := &fakeConn{}
	dial := func(context.Context, string, string) (net.Conn, error) { return c, nil }
	d := &dialer{options: &redis.Options{}, dial: dial, clock: clock.System}
	ctx, end := context.WithCancel(t.Context())
	_, err := d.attempt(ctx, time.Minute, func(context.Context, net.Conn) (*session, error) {
		end()
		return newSession(c, Server{}), nil
	})
	require.ErrorIs(t, err, node.ErrClosed)
	assert.True(t, c.closed.Load())
}

func TestWhichStepsOnlyAnOperatorCanFix(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, reply string
		want           bool
	}{
		{"auth", "ERR unknown command", true},
		{"select", "ERR DB index is out of range", true},
		{"info", "ERR unknown command", false},
		{"auth", "LOADING Redis is loading the dataset in memory", false},
		{"select", "ERR max number of clients reached", false},
	} {
		err := &stepError{command: c.command, err: resp.Error(c.reply)}
		assert.Equal(t, c.want, node.Permanent(fmt.Errorf("wrapped: %w", err)), "%s: %s", c.command, c.reply)
	}
}

// fakeExaminer is a connection to an address.
type fakeExaminer struct {
	examiner
	addr net.Addr
}

func (f fakeExaminer) remote() net.Addr { return f.addr }

func TestTheAddressOfTheOtherEnd(t *testing.T) {
	t.Parallel()
	for want, addr := range map[string]net.Addr{
		"10.0.0.1": &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 6379}, "::1": &net.TCPAddr{IP: net.IPv6loopback, Port: 1},
	} {
		assert.Equal(t, want, (&Connection{fakeExaminer{addr: addr}}).Remote())
	}
	for _, addr := range []net.Addr{
		nil, &net.UnixAddr{Net: "unix", Name: "/run/redis"}, &net.UnixAddr{Net: "unix", Name: "host:1"},
		&net.UnixAddr{Net: "unix", Name: "10.0.0.1"},
	} {
		assert.Empty(t, (&Connection{fakeExaminer{addr: addr}}).Remote(), "%v", addr)
	}
}
