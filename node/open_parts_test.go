package node

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/testcert"
)

// fakeConn is a connection that has broken.
type fakeConn struct {
	net.Conn
	err    error // of Read and Write
	linger int
	closed bool
}

func (c *fakeConn) Read([]byte) (int, error)         { return 0, c.err }
func (c *fakeConn) Write([]byte) (int, error)        { return 0, c.err }
func (c *fakeConn) SetWriteDeadline(time.Time) error { return nil }
func (c *fakeConn) Close() error                     { c.closed = true; return nil }

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

func TestAConnectionIsLentOnce(t *testing.T) {
	t.Parallel()
	c := &fakeConn{err: io.EOF}
	dial := lend(c)
	conn, err := dial(t.Context(), "tcp", "10.0.0.1:6379")
	require.NoError(t, err)
	_, err = conn.Read(nil)
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, conn.Close())
	assert.False(t, c.closed)
	conn, err = dial(t.Context(), "tcp", "10.0.0.1:6379")
	require.ErrorIs(t, err, errSessionOver)
	assert.Nil(t, conn)
}

// A server rejects a client's certificate after the handshake of TLS 1.3.
func TestTheAlertAfterAFailedWrite(t *testing.T) {
	t.Parallel()
	ca := testcert.New(t)
	handshake := func(server *tls.Config) *tls.Conn {
		near, far := net.Pipe()
		var serving sync.WaitGroup
		serving.Go(func() {
			conn := tls.Server(far, server)
			_ = conn.Handshake()
			_ = far.Close()
		})
		t.Cleanup(serving.Wait)
		config := ca.Trusting()
		config.ServerName, config.Certificates = "127.0.0.1", []tls.Certificate{ca.Valid()}
		conn := tls.Client(near, config)
		require.NoError(t, conn.Handshake())
		t.Cleanup(func() { _ = near.Close() })
		return conn
	}
	write, read := &net.OpError{Op: "write", Err: errBroken}, &net.OpError{Op: "read", Err: errBroken}
	rejecting := &tls.Config{
		Certificates: []tls.Certificate{ca.Valid()}, MinVersion: tls.VersionTLS13,
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: testcert.New(t).Pool(), SessionTicketsDisabled: true,
	}
	conn := handshake(rejecting)
	assert.Equal(t, read, rejection(conn, read), "no write failed")
	assert.Equal(t, errBroken, rejection(conn, errBroken))
	require.True(t, Permanent(rejection(conn, write)))
	accepting := rejecting.Clone()
	accepting.ClientCAs = ca.Pool()
	assert.Equal(t, write, rejection(handshake(accepting), write), "there is no alert")
	alert := &net.OpError{Op: "remote error", Err: tls.AlertError(42)}
	require.True(t, Permanent(alert))
	assert.Equal(t, write, rejection(&fakeConn{err: alert}, write), "without TLS there are no alerts")
}

func TestAListenerClosesItsClients(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(stop, cancel func()){
		"it stops":                func(stop, _ func()) { stop() },
		"the node's context ends": func(_, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var mu sync.Mutex
				var made []context.Context
				closed := 0
				ls := newListener(ctx, clock.System, func(ctx context.Context) (subscriber, func()) {
					mu.Lock()
					defer mu.Unlock()
					made = append(made, ctx)
					client := redis.NewClient(clientOptions(&redis.Options{
						Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, errBroken },
					}))
					return client, func() {
						mu.Lock()
						defer mu.Unlock()
						closed++
						_ = client.Close()
					}
				})
				var all sync.WaitGroup
				ls.spawn = func(f func() error) { all.Go(func() { _ = f() }) }
				stop := ls.listen("a", func(string) {})
				time.Sleep(4*resubscribeAfter + resubscribeAfter/2)
				synctest.Wait()
				mu.Lock()
				assert.Len(t, made, 5, "it waits before it replaces a connection")
				mu.Unlock()
				end(stop, cancel)
				all.Wait()
				assert.Equal(t, len(made), closed)
				for _, ctx := range made {
					assert.Error(t, ctx.Err())
				}
			})
		})
	}
}

func TestAWriteToABrokenSessionFails(t *testing.T) {
	t.Parallel()
	s := newSession(&fakeConn{err: errBroken}, Server{})
	require.ErrorIs(t, s.flush(), errBroken)
	assert.ErrorIs(t, s.verify(), errBroken)
}
