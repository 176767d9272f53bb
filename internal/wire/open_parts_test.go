package wire

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
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

// fakeSubscription is a subscription that has ended.
type fakeSubscription struct {
	closed atomic.Bool
}

func (f *fakeSubscription) subscribe([]string) error   { return nil }
func (f *fakeSubscription) unsubscribe([]string) error { return nil }
func (f *fakeSubscription) receive() (event, error)    { return event{}, errBroken }

func (f *fakeSubscription) close() { f.closed.Store(true) }

func TestAListenerClosesItsSubscriptions(t *testing.T) {
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
				var made []*fakeSubscription
				ls := newListener(ctx, clock.System, func(context.Context) (subscription, error) {
					mu.Lock()
					defer mu.Unlock()
					sub := &fakeSubscription{}
					made = append(made, sub)
					return sub, nil
				})
				var reports []string
				ls.report = func(err error) {
					mu.Lock()
					defer mu.Unlock()
					reports = append(reports, err.Error())
				}
				var all sync.WaitGroup
				ls.spawn = func(f func() error) { all.Go(func() { _ = f() }) }
				stop := ls.listen("a", func(string) {})
				time.Sleep(time.Hour)
				synctest.Wait()
				mu.Lock()
				assert.InDelta(t, 80, len(made), 30, "it waits, longer and longer, before it replaces a connection")
				assert.Equal(t, []string{"no subscription: broken"}, reports)
				before := len(made)
				mu.Unlock()
				ls.retryNow()
				synctest.Wait()
				mu.Lock()
				assert.Len(t, made, before+1, "the master answers again")
				mu.Unlock()
				end(stop, cancel)
				all.Wait()
				for _, sub := range made {
					assert.True(t, sub.closed.Load())
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
