package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
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

var errBroken = errors.New("broken")

func TestErrorsOfConnecting(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	late, end := context.WithCancelCause(ctx)
	end(context.DeadlineExceeded)
	closed, end := context.WithCancelCause(ctx)
	end(nil)
	noCredentials := &credentialsError{errBroken}
	assert.Equal(t, noCredentials, connectError(ctx, fmt.Errorf("dial: %w", noCredentials)))
	assert.ErrorIs(t, noCredentials, errBroken)
	assert.EqualError(t, connectError(late, noCredentials), "no credentials: "+node.ErrTimeout.Error())
	assert.ErrorIs(t, connectError(ctx, errors.New("redis: can't parse reply")), node.ErrNotRedis)
	assert.ErrorIs(t, connectError(ctx, errors.New("redis: invalid reply")), node.ErrNotRedis)
	assert.EqualError(t, connectError(late, errBroken), "connecting: "+node.ErrTimeout.Error())
	assert.EqualError(t, connectError(ctx, context.DeadlineExceeded), "connecting: "+node.ErrTimeout.Error())
	assert.ErrorIs(t, connectError(late, &handshakeTLSError{errBroken}), node.ErrTimeout)
	assert.ErrorContains(t, connectError(late, &handshakeTLSError{errBroken}), "needs a port with TLS")
	assert.Equal(t, node.ErrClosed, connectError(closed, errBroken))
	assert.EqualError(t, connectError(ctx, errBroken), "connecting: broken")
}

// netError is an error of a connection.
type netError bool

func (netError) Error() string { return "a connection" }

func (e netError) Timeout() bool { return bool(e) }

func (netError) Temporary() bool { return false }

func TestWhichErrorsAreTimeouts(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		context.DeadlineExceeded: true, os.ErrDeadlineExceeded: true, netError(true): true,
		netError(false): false, context.Canceled: false, net.ErrClosed: false,
	} {
		assert.Equal(t, want, timedOut(fmt.Errorf("wrapped: %w", err)), "%v", err)
	}
	for _, err := range []error{context.DeadlineExceeded, os.ErrDeadlineExceeded} {
		assert.True(t, timedOut(&net.OpError{Op: "dial", Err: fmt.Errorf("a tunnel: %w", err)}))
	}
}

func TestAConnectionThatEndedIsNamed(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF} {
		got := cutOff(err)
		assert.ErrorContains(t, got, "the master ended the connection")
		assert.ErrorIs(t, got, err)
	}
	assert.Equal(t, net.ErrClosed, cutOff(net.ErrClosed))
	assert.NoError(t, cutOff(nil))
}

// A master that accepts a connection and ends it hangs up. One that refuses connections, or is silent, does not.
func TestWhichErrorsAreOfAServerThatHangsUp(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"refuses connections":        {fmt.Errorf("connecting: %w", dial), false},
		"is silent":                  {fmt.Errorf("connecting: %w", node.ErrTimeout), false},
		"refuses with a reply":       {resp.Error("ERR max number of clients reached"), false},
		"ends without an answer":     {fmt.Errorf("connecting: %w", errNoAnswer), true},
		"ends within the handshake":  {fmt.Errorf("connecting: %w", cutOff(io.EOF)), true},
		"resets the connection":      {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		"is silent on a read":        {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, false},
		"ends within a reply":        {cutOff(io.ErrUnexpectedEOF), true},
		"is not there for the write": {&net.OpError{Op: "write", Err: syscall.EPIPE}, true},
	} {
		assert.Equal(t, c.want, HungUp(c.err), name)
	}
}

var errDial = &net.OpError{Op: "dial", Err: errBroken}

// What classify says of each pair of a command's error and that of Exec.
func TestWhatBecameOfACommand(t *testing.T) {
	t.Parallel()
	refusal := resp.Error("NOPERM")
	for name, c := range map[string]struct {
		value         any
		err, exec     error
		want          Result
		wantValue     any
		wantErr       error
		wantUndefined bool // any error
	}{
		"a value":                   {value: "OK", want: Answered, wantValue: "OK"},
		"a null":                    {err: redis.Nil, exec: redis.Nil, want: Answered},
		"an error reply":            {err: refusal, exec: refusal, want: Answered, wantErr: refusal},
		"a value that was cut off":  {value: "O", err: errBroken, exec: errBroken, want: InDoubt, wantErr: errBroken},
		"a broken connection":       {err: errBroken, exec: errBroken, want: InDoubt, wantErr: errBroken},
		"an error that Exec lacks":  {err: errBroken, want: InDoubt, wantErr: errBroken},
		"no connection":             {err: errDial, exec: errDial, want: NotSent, wantErr: errDial},
		"a handshake that failed":   {exec: errBroken, want: NotSent, wantErr: errBroken},
		"neither value nor error":   {want: InDoubt, wantUndefined: true},
		"an answer before an error": {value: "OK", exec: errBroken, want: Answered, wantValue: "OK"},
	} {
		cmd := redis.NewCmd(t.Context(), "x")
		cmd.SetVal(c.value)
		cmd.SetErr(c.err)
		got := classify(cmd, c.exec)
		assert.Equal(t, c.want, got.Result, name)
		assert.Equal(t, c.wantValue, got.Value, name)
		if c.wantUndefined {
			assert.Error(t, got.Err, name)
		} else {
			assert.Equal(t, c.wantErr, got.Err, name)
		}
	}
}

func TestHowOftenAPoolIsVerified(t *testing.T) {
	t.Parallel()
	broken := Reply{Result: InDoubt, Err: errBroken}
	for name, c := range map[string]struct {
		replies []Reply // the last one again and again
		want    int
	}{
		"a connection works":       {[]Reply{{Value: "PONG"}}, 1},
		"the third one works":      {[]Reply{broken, broken, {Value: "PONG"}}, 3},
		"there is no connection":   {[]Reply{broken, {Result: NotSent, Err: errDial}}, 2},
		"all have ended":           {[]Reply{broken}, 4},
		"a connection is silent":   {[]Reply{{Result: InDoubt, Err: context.DeadlineExceeded}}, 1},
		"the client was closed":    {[]Reply{{Result: InDoubt, Err: redis.ErrClosed}}, 1},
		"it is the last that ends": {[]Reply{broken, broken, broken, {Value: "PONG"}}, 4},
	} {
		times := 0
		got := untilAlive(3, func() Reply {
			times++
			return c.replies[min(times, len(c.replies))-1]
		})
		assert.Equal(t, c.want, times, name)
		assert.Equal(t, c.replies[len(c.replies)-1], got, name)
	}
}

// A Cluster replaces the clients of its servers. Those that it has dropped are not kept, and others get one hook each.
func TestTheHooksOfAClusterKeepNoClient(t *testing.T) {
	t.Parallel()
	var hooks panicHooks
	known := func() (n int) {
		hooks.added.Range(func(any, any) bool { n++; return true })
		return n
	}
	kept := redis.NewClient(&redis.Options{})
	defer kept.Close()
	for range 3 {
		hooks.add(kept)
		dropped := redis.NewClient(&redis.Options{})
		hooks.add(dropped)
		require.NoError(t, dropped.Close())
	}
	assert.Eventually(t, func() bool {
		runtime.GC()
		return known() == 1
	}, 10*time.Second, time.Millisecond)
	runtime.KeepAlive(kept)
}

func TestTheStateOfAWrappedClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := redis.NewClient(&redis.Options{
			Dialer:     func(context.Context, string, string) (net.Conn, error) { return nil, errDial },
			Addr:       "10.0.0.1:6379",
			MaxRetries: -1, DialerRetries: 1, PipelinePoolSize: -1,
		})
		defer client.Close()
		w := &wrapped{wrappedClient: &wrappedClient{client: client, single: client, clock: clock.System}, used: time.Now()}
		assert.False(t, w.Streams())
		for _, use := range []func() error{w.Flush, w.Verify} {
			time.Sleep(idleAfter - time.Nanosecond)
			assert.Equal(t, Usable, w.State())
			time.Sleep(time.Nanosecond)
			assert.Equal(t, Unverified, w.State())
			w.replies = make([]Reply, 3)
			w.Put(ping)
			require.NoError(t, use())
			replies, err := w.Receive()
			require.NoError(t, err)
			require.Len(t, replies, 1)
			assert.Equal(t, NotSent, replies[0].Result)
			assert.Equal(t, Usable, w.State())
		}
	})
}

// Without a deadline, a frozen master would keep Close from ending: a wrapped client's connection cannot be closed.
func TestAWrappedClientHasDeadlines(t *testing.T) {
	t.Parallel()
	const off = -1
	single := redis.NewClient(&redis.Options{MaxRetries: off, WriteTimeout: off})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{MaxRetries: off, MaxRedirects: off, WriteTimeout: off})
	t.Cleanup(func() { assert.NoError(t, single.Close()); assert.NoError(t, cluster.Close()) })
	assert.Positive(t, withoutRetries(single).Options().WriteTimeout)
	own := clusterWithoutRetries(cluster)
	t.Cleanup(func() { assert.NoError(t, own.Close()) })
	assert.Positive(t, own.Options().WriteTimeout)
}
