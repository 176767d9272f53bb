package wire

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
)

var errDial = &net.OpError{Op: "dial", Err: errBroken}

// What classify says of each pair of a command's error and that of Exec.
func TestWhatBecameOfACommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value         any
		err, exec     error
		want          result
		wantValue     any
		wantErr       error
		wantUndefined bool // any error
	}{
		"a value":                   {value: "OK", want: answered, wantValue: "OK"},
		"a null":                    {err: redis.Nil, exec: redis.Nil, want: answered},
		"an error reply":            {err: noKey, exec: noKey, want: answered, wantErr: noKey},
		"a value that was cut off":  {value: "O", err: errBroken, exec: errBroken, want: inDoubt, wantErr: errBroken},
		"a broken connection":       {err: errBroken, exec: errBroken, want: inDoubt, wantErr: errBroken},
		"an error that Exec lacks":  {err: errBroken, want: inDoubt, wantErr: errBroken},
		"no connection":             {err: errDial, exec: errDial, want: notSent, wantErr: errDial},
		"a handshake that failed":   {exec: errBroken, want: notSent, wantErr: errBroken},
		"neither value nor error":   {want: inDoubt, wantUndefined: true},
		"an answer before an error": {value: "OK", exec: errBroken, want: answered, wantValue: "OK"},
	} {
		cmd := redis.NewCmd(t.Context(), "x")
		cmd.SetVal(c.value)
		cmd.SetErr(c.err)
		got := classify(cmd, c.exec)
		assert.Equal(t, c.want, got.result, name)
		assert.Equal(t, c.wantValue, got.value, name)
		if c.wantUndefined {
			assert.Error(t, got.err, name)
		} else {
			assert.Equal(t, c.wantErr, got.err, name)
		}
	}
}

func TestHowOftenAPoolIsVerified(t *testing.T) {
	t.Parallel()
	broken := reply{result: inDoubt, err: errBroken}
	for name, c := range map[string]struct {
		replies []reply // the last one again and again
		want    int
	}{
		"a connection works":       {[]reply{{value: "PONG"}}, 1},
		"the third one works":      {[]reply{broken, broken, {value: "PONG"}}, 3},
		"there is no connection":   {[]reply{broken, {result: notSent, err: errDial}}, 2},
		"all have ended":           {[]reply{broken}, 4},
		"a connection is silent":   {[]reply{{result: inDoubt, err: context.DeadlineExceeded}}, 1},
		"the client was closed":    {[]reply{{result: inDoubt, err: redis.ErrClosed}}, 1},
		"it is the last that ends": {[]reply{broken, broken, broken, {value: "PONG"}}, 4},
	} {
		times := 0
		got := untilAlive(3, func() reply {
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
		assert.False(t, w.streams())
		for _, use := range []func() error{w.flush, w.verify} {
			time.Sleep(idleAfter - time.Nanosecond)
			assert.Equal(t, linkUsable, w.state())
			time.Sleep(time.Nanosecond)
			assert.Equal(t, linkUnverified, w.state())
			w.replies = make([]reply, 3)
			w.put(Command("x", nil, "ping").out)
			require.NoError(t, use())
			replies, err := w.receive()
			require.NoError(t, err)
			require.Len(t, replies, 1)
			assert.Equal(t, notSent, replies[0].result)
			assert.Equal(t, linkUsable, w.state())
		}
	})
}
