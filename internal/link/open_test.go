package link_test

import (
	"context"
	"crypto/tls"
	"errors"
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

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testcert"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/node"
)

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
	assert.Equal(t, link.Reply{Value: "OK"}, send(dial(t, opened(t, "unix://"+path)), set("a"))[0])
}

// The timeout is four times as long as the last attempt took that succeeded.
func TestAMasterThatGetsFartherAwayIsReached(t *testing.T) {
	inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
		attempt := func() error {
			l, err := m.Open(t.Context(), 0)
			if err == nil {
				l.Close()
			}
			return err
		}
		s.Delay(450*time.Millisecond, 0) // connect, handshake: 1.8 s
		require.ErrorIs(t, attempt(), node.ErrTimeout)
		s.Delay(150*time.Millisecond, 0) // 0.6 s
		require.NoError(t, attempt())
		s.Delay(450*time.Millisecond, 0)
		assert.NoError(t, attempt())
	})
}

// The timeouts of the URL do not end a connection.
func TestTheTimeoutsOfTheURLAreNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		m := opened(t, w.Master(0).URL()+"?read_timeout=1ms&write_timeout=1ms", node.WithDialer(w.Dial))
		w.Master(0).Delay(10*time.Millisecond, 0)
		assert.Equal(t, link.Reply{Value: "OK"}, send(dial(t, m), set("a"))[0])
		sub, err := m.Subscribe(t.Context())
		require.NoError(t, err)
		defer sub.Close()
		require.NoError(t, sub.Subscribe([]string{"a"}))
		channel, _, err := sub.Receive()
		require.NoError(t, err)
		assert.Equal(t, "a", channel)
	})
}

func TestTheDatabaseOfTheURLIsUsed(t *testing.T) {
	inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
		require.Equal(t, link.Reply{Value: "OK"}, send(dial(t, m), set("a"))[0])
		assert.Empty(t, s.Keys(), "of database 0")
		assert.Equal(t, []string{"a"}, s.Redis().DB(3).Keys())
	})
}

func TestThePasswordOfTheURL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		s := w.Master(0)
		s.RequirePassword("s:cr/t")
		for user, works := range map[string]bool{
			":s%3Acr%2Ft@": true, "default:s%3Acr%2Ft@": true, "": false, ":hunter2@": false, "default:hunter2@": false,
		} {
			err := refused(t, opened(t, "redis://"+user+s.Addr(), node.WithDialer(w.Dial)))
			if works {
				require.NoError(t, err, user)
				continue
			}
			assert.True(t, node.Permanent(err), "%v", err)
			assert.NotContains(t, err.Error(), "hunter2")
		}
	})
}

func TestCredentialsFromAFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		s := w.Master(0)
		s.RequirePassword("one")
		get := func(context.Context) (user, password string, err error) { panic("not set") }
		m := opened(t, s.URL(), node.WithDialer(w.Dial),
			node.WithCredentials(func(ctx context.Context) (user, password string, err error) { return get(ctx) }))
		sealed := errors.New("the vault is sealed")
		get = func(context.Context) (string, string, error) { return "", "", sealed }
		err := refused(t, m)
		require.ErrorIs(t, err, sealed)
		require.EqualError(t, err, "no credentials: the vault is sealed")
		assert.False(t, node.Permanent(err))

		get = func(ctx context.Context) (string, string, error) {
			<-ctx.Done()
			return "", "", ctx.Err()
		}
		err = refused(t, m)
		require.ErrorIs(t, err, node.ErrTimeout)
		require.EqualError(t, err, "no credentials: no answer in time")
		assert.NotErrorIs(t, err, context.DeadlineExceeded)

		get = func(context.Context) (string, string, error) { return "", "zero", nil }
		assert.True(t, node.Permanent(refused(t, m)), "a refused password")
		get = func(context.Context) (string, string, error) { return "", "one", nil }
		assert.NoError(t, refused(t, m))
		s.RequirePassword("")
		get = func(context.Context) (string, string, error) { return "", "", nil }
		assert.NoError(t, refused(t, m), "no authentication")
	})
}

// listenTLS starts a master that uses TLS with that certificate, and returns its address.
func listenTLS(t *testing.T, c *tls.Config) string {
	t.Helper()
	srv := &testnet.Scripted{Answer: func(args []string) (string, bool) {
		if strings.EqualFold(args[0], "ping") {
			return "+PONG\r\n", false
		}
		return "+OK\r\n", false
	}}
	return testnet.Serve(t, func(conn net.Conn) { srv.Serve(tls.Server(conn, c)) })
}

func serving(c tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{c}} }

func TestACertificateThatDoesNotVerifyIsAPermanentError(t *testing.T) {
	t.Parallel()
	ca, stranger := testcert.New(t), testcert.New(t)
	type testCase struct {
		certificate tls.Certificate
		want        string // "": it verifies
	}
	testmain.Each(t, map[string]testCase{
		"a valid one":    {ca.Valid(), ""},
		"an untrusted":   {stranger.Valid(), "unknown authority"},
		"an expired one": {ca.Certificate("127.0.0.1", time.Now().Add(-time.Hour)), "expired"},
		"a wrong name":   {ca.Certificate("redis.example.org", time.Now().Add(time.Hour)), "127.0.0.1"},
	}, func(t *testing.T, tt testCase) {
		addr := listenTLS(t, serving(tt.certificate))
		o := &redis.Options{
			Addr: addr, TLSConfig: ca.Trusting(), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		}
		for how, m := range map[string]*link.Master{
			"opened":  opened(t, "rediss://"+addr, node.WithTLSConfig(ca.Trusting())),
			"wrapped": wrapped(t, client(t, o)),
		} {
			err := refused(t, m)
			if tt.want == "" {
				require.NoError(t, err, how)
				continue
			}
			require.ErrorContains(t, err, tt.want, how)
			assert.True(t, node.Permanent(err), "%s: %v", how, err)
		}
	})
}

// Most failures of a TLS handshake are temporary.
func TestATLSConnectionThatBreaksIsNoPermanentError(t *testing.T) {
	t.Parallel()
	err := refused(t, opened(t, "rediss://"+testnet.Serve(t, func(c net.Conn) { _ = c.Close() })))
	require.Error(t, err)
	assert.False(t, node.Permanent(err), "%v", err)
}

// twoWrites is a connection whose third write fails: the first after the handshake of TLS 1.3.
type twoWrites struct {
	net.Conn
	written int
}

func (c *twoWrites) Write(p []byte) (int, error) {
	if c.written++; c.written > 2 {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return c.Conn.Write(p)
}

// The server has closed the connection before the client writes. Its alert is still read.
func TestAServerThatWantsAClientCertificate(t *testing.T) {
	t.Parallel()
	ca := testcert.New(t)
	server := serving(ca.Valid())
	server.ClientAuth, server.ClientCAs, server.MinVersion = tls.RequireAndVerifyClientCert, ca.Pool(), tls.VersionTLS13
	addr := listenTLS(t, server)
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &twoWrites{Conn: conn}, err
	}
	err := refused(t, opened(t, "rediss://"+addr, node.WithTLSConfig(ca.Trusting()), node.WithDialer(dial)))
	require.ErrorContains(t, err, "certificate required")
	assert.True(t, node.Permanent(err), "%v", err)
}

func TestTLSConfigurations(t *testing.T) {
	t.Parallel()
	ca := testcert.New(t)
	addr := listenTLS(t, serving(ca.Valid()))
	named := listenTLS(t, serving(ca.Certificate("redis.example.org", time.Now().Add(time.Hour))))
	trusting := func(name string) *tls.Config {
		c := ca.Trusting()
		c.ServerName = name
		return c
	}
	type testCase struct {
		url    string
		config *tls.Config // nil: no option
		works  bool
	}
	testmain.Each(t, map[string]testCase{
		"the system's authorities":         {"rediss://" + addr, nil, false},
		"an authority":                     {"rediss://" + addr, ca.Trusting(), true},
		"a name, which is kept":            {"rediss://" + named, trusting("redis.example.org"), true},
		"another name":                     {"rediss://" + addr, trusting("redis.example.org"), false},
		"no verification, by the URL":      {"rediss://" + addr + "?skip_verify=true", nil, true},
		"no verification, by both":         {"rediss://" + addr + "?skip_verify=true", &tls.Config{}, true},
		"no verification, by the option":   {"rediss://" + addr, &tls.Config{InsecureSkipVerify: true}, true},
		"an empty configuration verifies":  {"rediss://" + addr, &tls.Config{}, false},
		"a scheme in capitals is the same": {"REDISS://" + addr, ca.Trusting(), true},
	}, func(t *testing.T, tt testCase) {
		var opts []node.Option
		if tt.config != nil {
			before := tt.config.Clone()
			opts = append(opts, node.WithTLSConfig(tt.config))
			defer func() {
				assert.Equal(t, before.ServerName, tt.config.ServerName, "the caller's configuration is not changed")
				assert.Equal(t, before.InsecureSkipVerify, tt.config.InsecureSkipVerify)
			}()
		}
		err := refused(t, opened(t, tt.url, opts...))
		assert.Equal(t, tt.works, err == nil, "%v", err)
	})
}

func TestATLSConfigurationIsCopied(t *testing.T) {
	t.Parallel()
	ca := testcert.New(t)
	c := ca.Trusting()
	option := node.WithTLSConfig(c)
	c.RootCAs = nil
	for range 2 { // of two masters with names of their own
		for _, name := range []string{"127.0.0.1", "localhost"} {
			addr := listenTLS(t, serving(ca.Certificate(name, time.Now().Add(time.Hour))))
			_, port, err := net.SplitHostPort(addr)
			require.NoError(t, err)
			assert.NoError(t, refused(t, opened(t, "rediss://"+net.JoinHostPort(name, port), option)))
		}
	}
}
