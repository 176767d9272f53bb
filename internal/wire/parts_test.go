package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/node"
)

func TestVotesAreCounted(t *testing.T) {
	t.Parallel()
	var v votes
	c := anyCall()
	v.count(at(10))
	v.count(at(10), delivery{c, Vote{Verdict: Granted}}, delivery{c, Vote{Verdict: Denied}}, delivery{c, Vote{}})
	for range 2 {
		v.count(at(10), delivery{c, Vote{Verdict: Failed, Unsent: true, Err: node.ErrDropped}})
	}
	v.count(at(10), delivery{c, Vote{Verdict: Failed, Unsent: true, Err: node.ErrBusy}})
	v.count(at(10), delivery{c, Vote{Verdict: Failed, Err: node.ErrDropped}})
	assert.Equal(t, [4]int64{Unknown: 1, Failed: 2, Denied: 1, Granted: 1}, v.byVerdict)
	assert.EqualValues(t, 2, v.dropped, "only what was not written")
	assert.EqualValues(t, 2, v.latency.Count())
}

func TestARestartedServerIsNotTrustedWithinTheWindow(t *testing.T) {
	t.Parallel()
	s := Server{Up: at(0)}
	for _, tt := range []struct {
		window time.Duration
		at     float64
		left   time.Duration // negative: trusted
	}{
		{0, 0, -1},
		{0, -5, -1},
		{10 * time.Second, 0, 10 * time.Second},
		{10 * time.Second, 10, 0},
		{10 * time.Second, 10.001, -1},
	} {
		err := s.Trusted(tt.window, at(tt.at))
		if tt.left < 0 {
			assert.NoError(t, err, "%+v", tt)
			continue
		}
		var restart *node.RestartError
		if assert.ErrorAs(t, err, &restart, "%+v", tt) {
			assert.Equal(t, tt.left, restart.Left)
		}
	}
	s.Err = errors.New("no INFO")
	assert.Equal(t, s.Err, s.Trusted(0, at(99)))
}

func TestTheVersionInAStatus(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]Status{
		"role:master\r\nredis_version:7.2.4\r\nuptime_in_seconds:5\r\nloading:1\r\n": {
			Role: "master", Version: "7.2.4", Uptime: 5 * time.Second, Loading: true,
		},
		"role:slave\r\nredis_version:7.2.4\r\nvalkey_version:8.0.1\r\nuptime_in_seconds:5\r\n": {
			Role: "slave", Version: "valkey 8.0.1", Uptime: 5 * time.Second,
		},
	} {
		v := readStatus(info)
		assert.Equal(t, Granted, v.Verdict)
		status := v.Data.(Status)
		status.Server = Server{}
		assert.Equal(t, want.Version, status.Version)
		assert.Equal(t, want.Role, status.Role)
		assert.Equal(t, want.Loading, status.Loading)
	}
	for _, reply := range []any{nil, int64(1), "", "redis_version:7.2.4\r\n"} {
		assert.NotEqual(t, Granted, readStatus(reply).Verdict, "%v", reply)
	}
}

func TestTheTimeoutOfAConnectionFollowsItsDuration(t *testing.T) {
	t.Parallel()
	d := new(dialer)
	assert.Equal(t, connectTimeout, d.attemptTimeout())
	d.observeDial(connectTimeout, nil)
	assert.Equal(t, 4*connectTimeout, d.attemptTimeout())
	d.observeDial(connectTimeoutMax/2, nil)
	assert.Equal(t, connectTimeoutMax, d.attemptTimeout(), "otherwise it could grow at each attempt")
	d.observeDial(connectTimeout/8, nil)
	assert.Equal(t, connectTimeout, d.attemptTimeout())
	d.observeDial(0, errBroken)
	assert.Equal(t, connectTimeout, d.attemptTimeout(), "not a timeout")
	d.observeDial(0, node.ErrTimeout)
	assert.Equal(t, 2*connectTimeout, d.attemptTimeout())
	for range 20 {
		d.observeDial(0, node.ErrTimeout)
	}
	assert.Equal(t, connectTimeoutMax, d.attemptTimeout())

	d = new(dialer)
	d.known.last.RunID = "A"
	d.observeDial(0, node.ErrTimeout)
	assert.Equal(t, connectTimeout, d.attemptTimeout(), "an attempt has succeeded before")
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

func TestTheUptimeOfAServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, "-7": 0, "3153600000": 3153600000 * time.Second, "3153600001": -1, "": -1, "x": -1,
	} {
		up, err := uptimeOf(map[string]string{"uptime_in_seconds": text})
		assert.Equal(t, want < 0, err != nil, "%q", text)
		assert.Equal(t, max(0, want), up, "%q", text)
	}
}

func TestErrorsOfConnecting(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	late, end := context.WithCancelCause(ctx)
	end(context.DeadlineExceeded)
	closed, end := context.WithCancelCause(ctx)
	end(nil)
	noCredentials := &credentialsError{errBroken}
	assert.Equal(t, noCredentials, connectError(ctx, fmt.Errorf("dial: %w", noCredentials)))
	assert.EqualError(t, connectError(late, noCredentials), "no credentials: "+node.ErrTimeout.Error())
	assert.ErrorIs(t, connectError(ctx, errors.New("redis: can't parse reply")), node.ErrNotRedis)
	assert.ErrorIs(t, connectError(ctx, errors.New("redis: invalid reply")), node.ErrNotRedis)
	assert.EqualError(t, connectError(late, errBroken), "connecting: "+node.ErrTimeout.Error())
	assert.EqualError(t, connectError(ctx, context.DeadlineExceeded), "connecting: "+node.ErrTimeout.Error())
	assert.ErrorIs(t, connectError(late, &handshakeTLSError{errBroken}), node.ErrTimeout)
	assert.ErrorContains(t, connectError(late, &handshakeTLSError{errBroken}), "needs a port with TLS")
	assert.Equal(t, node.ErrClosed, connectError(closed, errBroken))
	assert.EqualError(t, connectError(ctx, errBroken), "connecting: broken")
	assert.Equal(t, "a", Command("get", nil, "get", "a").About("a").Lock)
}

// The socket of an idle connection is checked, whatever its read deadline is.
func TestTheStateOfAnIdleSession(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	for name, end := range map[string]func(server, client net.Conn){
		"data":               func(server, _ net.Conn) { _, _ = server.Write([]byte("x")) },
		"closed by a server": func(server, _ net.Conn) { _ = server.Close() },
		"closed":             func(_, client net.Conn) { _ = client.Close() },
	} {
		client, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		server, err := l.Accept()
		require.NoError(t, err)
		s := newSession(client, Server{})
		require.NoError(t, client.SetReadDeadline(time.Now().Add(-time.Second)))
		s.used = time.Now().Add(-2 * idleAfter)
		assert.Equal(t, linkUsable, s.state(), name)
		assert.Greater(t, time.Until(s.readBy), maxSilence/2)
		end(server, client)
		assert.Eventually(t, func() bool { return s.state() == linkEnded }, time.Minute, time.Millisecond, name)
		s.used = time.Now()
		assert.Equal(t, linkUsable, s.state(), "it was just used")
		s.replace.Store(true)
		assert.Equal(t, linkEnded, s.state())
		_, _ = client.Close(), server.Close()
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

// An encoded command does not outgrow the memory that is reserved for it.
func TestTheSizeOfArguments(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]any{
		"a string": "x", "a long string": strings.Repeat("x", 99_999), "bytes": []byte("x"), "a number": math.MinInt,
		"a 64-bit number": int64(math.MinInt64),
	} {
		args := slices.Repeat([]any{a}, 10)
		assert.GreaterOrEqual(t, size(args), len(appendCommand(nil, args)), name)
		o := undoScript.Op("x", nil, nil, args...)
		assert.GreaterOrEqual(t, undoScript.size(nil, args), len(o.out), name)
	}
	keys := slices.Repeat([]string{strings.Repeat("x", 99_999)}, 100)
	assert.GreaterOrEqual(t, undoScript.size(keys, nil), len(undoScript.Op("x", nil, keys).out))
}

// fakePipeline executes nothing. Each command fails with its entry of errs, and the pipeline with all of them and err.
type fakePipeline struct {
	redis.Pipeliner
	cmds []redis.Cmder
	errs []error
	err  error
}

func (*fakePipeline) Process(context.Context, redis.Cmder) error { return nil }

func (f *fakePipeline) Do(ctx context.Context, args ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetErr(f.errs[len(f.cmds)])
	f.cmds = append(f.cmds, cmd)
	return cmd
}

func (f *fakePipeline) Pipelined(_ context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error) {
	_ = fn(f)
	return f.cmds, errors.Join(append(f.errs, f.err)...)
}

// A failed handshake is the error of every command; a failed command is only its own.
func TestTheErrorsOfAnswers(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]struct {
		errs [2]error
		err  error
		want [2]bool
	}{
		"none":                 {},
		"of the first command": {errs: [2]error{errBroken, nil}, want: [2]bool{true, false}},
		"of the last command":  {errs: [2]error{nil, errBroken}, want: [2]bool{false, true}},
		"of the handshake":     {err: errBroken, want: [2]bool{true, true}},
	} {
		c := &Connection{&clientExaminer{client: &fakePipeline{errs: f.errs[:], err: f.err}}}
		for i, a := range c.DoAll(t.Context(), [][]any{{"ping"}, {"ping"}}) {
			assert.Equal(t, f.want[i], a.Err != nil, "%s: %v", name, a.Err)
		}
	}
}

// deadlined is a connection that swallows what is written, replies to every read, and records its deadlines.
type deadlined struct {
	net.Conn
	read, write []time.Duration // from now on
}

func (*deadlined) Write(p []byte) (int, error) { return len(p), nil }
func (*deadlined) Read(p []byte) (int, error)  { return copy(p, "+OK\r\n"), nil }
func (c *deadlined) SetReadDeadline(t time.Time) error {
	c.read = append(c.read, time.Until(t))
	return nil
}

func (c *deadlined) SetWriteDeadline(t time.Time) error {
	c.write = append(c.write, time.Until(t))
	return nil
}

// A deadline is set again only when it would be shorter than the longest silence by more than the slack.
func TestTheDeadlinesOfASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &deadlined{}
		s := newSession(c, Server{})
		for i, wait := range []time.Duration{0, deadlineSlack, 1, deadlineSlack} {
			time.Sleep(wait)
			s.put(nil)
			require.NoError(t, s.flush())
			replies, err := s.receive()
			require.NoError(t, err)
			require.Equal(t, []reply{{value: "OK"}}, replies)
			want := slices.Repeat([]time.Duration{maxSilence}, []int{1, 1, 2, 2}[i])
			assert.Equal(t, want, c.read)
			assert.Equal(t, want, c.write)
		}
	})
}

// The rest of a reply may not come. The replies before it are delivered.
func TestASessionDoesNotWaitForTheRestOfAReply(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]string{
		"a line": "+", "a length": "$1", "an end": "$1\r\nx\r", "text": "$9\r\nx\r\n", "a list": "*2\r\n:1\r\n",
		"a list in a list": "*2\r\n:1\r\n*1\r\n",
		"a long list":      "*2147483647\r\n",
		"a long text":      "$9223372036854775807\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			s := newSession(client, Server{})
			whole := []string{
				"+OK\r\n", ":1\r\n", "$-1\r\n", "*-1\r\n", "$2\r\nab\r\n", "*2\r\n*0\r\n$0\r\n\r\n", "-ERR\r\n",
			}
			for range whole {
				s.put(nil)
			}
			s.put(nil)
			go func() {
				_, _ = server.Write([]byte(strings.Join(whole, "") + rest))
			}()
			began := time.Now()
			replies, err := s.receive()
			require.NoError(t, err, name)
			assert.Len(t, replies, len(whole), name)
			assert.Zero(t, time.Since(began), name)
			_, _ = client.Close(), server.Close()
		})
	}
}

// The beginning of a reply without a request must not become a part of the next reply.
func TestASessionEndsAtTheBeginningOfAnUnaskedReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		s := newSession(client, Server{})
		s.put(nil)
		go func() {
			_, _ = server.Write([]byte(":0\r\n+O"))
		}()
		replies, err := s.receive()
		require.ErrorIs(t, err, errUnasked)
		assert.Len(t, replies, 1)
		_, _ = client.Close(), server.Close()
	})
}

func TestWhenTheKeysOfACallExpire(t *testing.T) {
	t.Parallel()
	c := anyCall(expiringAt(at(20)))
	c.confirmed(at(9))
	c.expireAt(at(30))
	assert.Equal(t, at(20), c.expiresAt(), "it was known before")
	c = anyCall(durable)
	c.confirmed(at(9))
	assert.Zero(t, c.expiresAt())
	c.expireAt(at(30))
	assert.Equal(t, at(30), c.expiresAt())
}
