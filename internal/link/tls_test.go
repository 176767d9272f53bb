package link_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/testcert"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/node"
)

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
