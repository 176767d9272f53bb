package wire_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

func TestANodeIsNamedByItsAddress(t *testing.T) {
	t.Parallel()
	for url, name := range map[string]string{
		"redis://10.0.0.1:6380":                          "10.0.0.1:6380",
		"redis://10.0.0.1":                               "10.0.0.1:6379",
		"redis://10.0.0.1/":                              "10.0.0.1:6379",
		"redis://10.0.0.1:6380/3":                        "10.0.0.1:6380",
		"redis://me:hunter2@redis.example.org:6380/0":    "redis.example.org:6380",
		"redis://:hunter2@redis.example.org":             "redis.example.org:6379",
		"rediss://me:hunter2@redis.example.org":          "redis.example.org:6379",
		"redis://[::1]:6380":                             "[::1]:6380",
		"redis://[2001:db8::1]":                          "[2001:db8::1]:6379",
		"redis://me:@10.0.0.1:1":                         "10.0.0.1:1",
		"redis://:@10.0.0.1:65535":                       "10.0.0.1:65535",
		"unix:///run/redis.sock":                         "/run/redis.sock",
		"unix://me:hunter2@/run/redis.sock?db=2":         "/run/redis.sock",
		"redis://10.0.0.1?client_name=me&read_timeout=2": "10.0.0.1:6379",
		"redis://10.0.0.1?max_retries=0":                 "10.0.0.1:6379",
		"redis://10.0.0.1?max_retries=-1":                "10.0.0.1:6379",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			n, err := open(url)
			require.NoError(t, err)
			assert.Equal(t, name, n.Name())
			assert.Zero(t, n.Close(time.Now()))
		})
	}
}

func TestTheErrorOfABadURLExplainsTheFault(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                   "redis://",
		"10.0.0.1:6379":                      "redis://",
		"localhost:6379":                     "redis://",
		"localhost":                          "redis://",
		"http://10.0.0.1":                    `"http"`,
		"redis+tls://10.0.0.1":               `"redis+tls"`,
		"redis://":                           "no host",
		"redis://:6379":                      "no host",
		"redis:///0":                         "no host",
		"rediss://me@":                       "no host",
		"unix://":                            "path",
		"unix://run/redis.sock":              "unix:///",
		"redis://10.0.0.1#0":                 "%23",
		"redis://10.0.0.1:port":              "port",
		"redis://10.0.0.1:0":                 "port 0",
		"redis://10.0.0.1:65536":             "between 1 and 65535",
		"redis://10.0.0.1:99999":             "port 99999",
		"rediss://me:pw@[::1]:99999":         "port 99999",
		"redis://10.0.0.1:-1":                "port",
		"redis://me@10.0.0.1":                "a user without a password",
		"unix://me@/run/redis.sock":          "a user without a password",
		"redis://10.0.0.1:6379/-1":           "database -1",
		"redis://10.0.0.1?db=-1":             "database -1",
		"unix:///run/redis.sock?db=-3":       "database -3",
		"redis://10.0.0.1:6379/zero":         "database",
		"redis://10.0.0.1:6379/0/1":          "path",
		"redis://10.0.0.1?max_retries=3":     "max_retries",
		"redis://10.0.0.1?max_retries=1":     "max_retries=1",
		"redis://10.0.0.1?max_retries=maybe": "max_retries",
		"redis://10.0.0.1?tpyo=1":            `unknown query parameter "tpyo": `,
		"rediss://10.0.0.1?skip_verfy=true":  `unknown query parameter "skip_verfy": `,
		"redis://u:p@10.0.0.1?b=1&a=2":       `unknown query parameter "a, b": `,
		"redis://10.0.0.1?db=two":            "database",
		"redis://%zz":                        "redis://",
		"redis://10.0.0.1 ":                  "redis://",
		"redis://10.0.0.1\n":                 "redis://",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			n, err := open(url)
			require.ErrorContains(t, err, want)
			assert.True(t, strings.HasPrefix(err.Error(), "redlock: "), err.Error())
			assert.Equal(t, strings.HasPrefix(want, "unknown query"), strings.Contains(err.Error(), "unknown query"))
			assert.Nil(t, n)
		})
	}
}

func TestNilOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []node.Option{nil, node.WithClock(nil), node.WithDialer(nil)} {
		_, err := open("redis://10.0.0.1", o)
		require.ErrorContains(t, err, "nil")
		client := redis.NewClient(&redis.Options{Addr: "10.0.0.1:6379", MaxRetries: -1})
		_, err = wrap(client, o)
		require.ErrorContains(t, err, "nil")
		require.NoError(t, client.Close())
	}
}

// Users forget to escape the characters of a password, forget the scheme or the @, or misplace the password. Errors
// show a URL without user, password and query.
func TestNoErrorShowsAPassword(t *testing.T) {
	t.Parallel()
	open := func(url string) error {
		n, err := open(url)
		text := fmt.Sprint(err)
		if err == nil {
			text = n.Name()
			n.Close(time.Now())
		}
		assert.NotContains(t, text, "ter2", url)
		assert.NotContains(t, text, "hun", url)
		return err
	}
	for _, url := range []string{
		"redis://user:hunter2@10.0.0.1:6379/0?tpyo=hunter2",
		"redis://user:hunter2@10.0.0.1?max_retries=3&client_name=hunter2",
		"http://user:hunter2@10.0.0.1?password=hunter2", "unix://user:hunter2@run/redis.sock?db=x&client_name=hunter2",
	} {
		err := open(url)
		require.ErrorContains(t, err, "xxxxx@", url)
		assert.ErrorContains(t, err, "?xxxxx", url)
	}
	for _, url := range []string{
		"redis://:hunter2", "redis://me:hunter2", "redis://me:hunter2:6379", "redis://me:hunter2/0",
		"unix://me:hunter2/run/redis.sock", "unix://:hunter2", "redis://10.0.0.1/%zz?password=hunter2",
		"rediss://:hunter2:10.0.0.1:6379", "redis://10.0.0.1:6379?password=hunter2", "me:hunter2", "redis:me:hunter2",
		"me:hunter2:10.0.0.1",
	} {
		require.Error(t, open(url), url)
	}
	for _, secret := range []string{
		"hunter2", "hun/ter2", "hunter2#", "#hunter2", "hun?ter2", "hun%ter2", "hun%zzter2", "hun ter2", "hun:ter2",
		"hun@ter2", "@hun/ter2", "hun[ter2", "hun]ter2", "hun\\ter2", "hun\nter2", "hun\x7fter2", "hun@/ter2", "hun?@ter2",
		"hun=1&ter2", "2/hunter?db=ter2",
	} {
		for _, pattern := range []string{
			"redis://:SECRET@10.0.0.1:6379", "redis://me:SECRET@10.0.0.1:6379/0", "rediss://me:SECRET@10.0.0.1:port",
			"redis://me:SECRET@10.0.0.1/zero", "redis://me:SECRET@10.0.0.1?max_retries=3",
			"redis://me:SECRET@10.0.0.1?tpyo=1", "redis://me:SECRET@", "http://me:SECRET@10.0.0.1",
			"me:SECRET@10.0.0.1:6379", ":SECRET@10.0.0.1:6379",
			"SECRET@10.0.0.1", "redis:me:SECRET@10.0.0.1", "redis:/me:SECRET@10.0.0.1", "redis:// me:SECRET@10.0.0.1",
			"unix://me:SECRET@run/redis.sock?db=x", "unix://me:SECRET@/?db=x", "10.0.0.1:6379:SECRET@",
			"redis//:SECRET@10.0.0.1", "redis://:SECRET%@10.0.0.1",
		} {
			_ = open(strings.ReplaceAll(pattern, "SECRET", secret))
		}
	}
}

func TestTheDatabaseOfTheURLIsUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		m := w.Master(0)
		r := newRig(t, w, m.URL()+"/3", node.WithDialer(w.Dial))
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		assert.Empty(t, m.Keys(), "of database 0")
		assert.Equal(t, []string{"a"}, m.Redis().DB(3).Keys())
	})
}

func TestAUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "redlock") //nolint:usetesting // t.TempDir is too long for a socket's path
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "redis.sock")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	srv := &testnet.Scripted{Answer: func([]string) (string, bool) { return "+OK\r\n", false }}
	testnet.ServeOn(t, l, srv.Serve)
	n, err := open("unix://" + path)
	require.NoError(t, err)
	r := bind(t, nil, n)
	v := r.ask(acquire("a", "me"), within(10*time.Second)).result()
	assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
}

// The timeout of a connection attempt grows until one succeeds, and the vote does not wait for it.
func TestAFarMasterIsReachedAfterTheVote(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Delay(900*time.Millisecond, 0) // connect, handshake: 3.6 s, more than the first attempt may take
		for range 200 {
			v := r.ask(acquire("a", "me")).result()
			assert.Equal(t, wire.Failed, v.Verdict)
			assert.LessOrEqual(t, v.Took, timeout)
			if r.m.Count("INFO") > 2 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		v := r.ask(acquire("b", "me"), within(2*time.Second)).result()
		assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
	})
}

// The timeout is four times as long as the last attempt took that succeeded.
func TestAMasterThatGetsFartherAwayIsReached(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Delay(150*time.Millisecond, 0) // 0.6 s
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me"), within(time.Second)).result().Verdict)
		r.m.Reset()
		time.Sleep(2 * time.Second)        // so that the next call finds the end of the connection
		r.m.Delay(450*time.Millisecond, 0) // 1.8 s
		v := r.ask(acquire("b", "me"), within(10*time.Second)).result()
		assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
	})
}

// The timeouts of the URL do not end a connection.
func TestTheTimeoutsOfTheURLAreNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		r := newRig(t, w, w.Master(0).URL()+"?read_timeout=1ms&write_timeout=1ms", node.WithDialer(w.Dial))
		r.m.Delay(10*time.Millisecond, 0)
		v := r.ask(acquire("a", "me")).result()
		assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
		l := r.listen(channel)
		r.eventually(timeout, "the subscription begins", func() bool { return l.notified.Load() == 1 })
	})
}

func TestABrokenConnectionOfItsOwnIsNotReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.node.Connect()
		defer c.Close()
		_, err := c.Do(t.Context(), "ping")
		require.NoError(t, err)
		r.m.Reset()
		for range 2 {
			_, err = c.Do(t.Context(), "ping")
			require.Error(t, err)
		}
		r.m.Refuse()
		refused := r.node.Connect()
		defer refused.Close()
		_, err = refused.Do(t.Context(), "ping")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	})
}

func TestAnErrorOfTheDialerIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, err := open("redis://10.9.9.9", node.WithDialer(func(context.Context, string, string) (net.Conn, error) {
			return nil, os.ErrPermission
		}))
		require.NoError(t, err)
		v := bind(t, nil, n).ask(acquire("a", "me")).result()
		assert.Equal(t, wire.Failed, v.Verdict)
		assert.True(t, v.Unsent)
		require.ErrorIs(t, v.Err, os.ErrPermission)
	})
}
