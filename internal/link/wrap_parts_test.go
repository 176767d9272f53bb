package link

import (
	"context"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/resp"
)

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
