package stacktest_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/node"
)

const (
	ttl     = 10 * time.Second       // the default
	drift   = 102 * time.Millisecond // its budget
	timeout = 500 * time.Millisecond // its node timeout
)

// world is masters in virtual time, and what they were asked.
type world struct {
	*simnet.Net

	mu     sync.Mutex
	events []simnet.Event
}

// inWorld is a parallel test in a bubble with n masters.
func inWorld(t *testing.T, n int, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	bubble(t, n, f)
}

// subWorld is a parallel subtest in a bubble with n masters.
func subWorld(t *testing.T, name string, n int, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Helper()
		inWorld(t, n, f)
	})
}

// bubble runs f in a bubble with n masters.
func bubble(t *testing.T, n int, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		w := &world{Net: simnet.New(t, 1, n)}
		w.Watch(func(e simnet.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		})
		f(t, w)
	})
}

// nodes are the masters at addrs, all if there are none, as a host of that name reaches them.
func (w *world) nodes(t testing.TB, host string, urls ...string) []*node.Node {
	t.Helper()
	if len(urls) == 0 {
		urls = w.URLs()
	}
	h := w.Host(host)
	masters := make([]*node.Node, 0, len(urls))
	for _, u := range urls {
		m, err := node.Open(u, node.WithDialer(h.Dial), node.WithClock(h.Clock()))
		require.NoError(t, err)
		masters = append(masters, m)
	}
	return masters
}

// locker is a Locker on a host of that name. It is closed with the test.
func (w *world) locker(t testing.TB, host string, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	return w.over(t, host, w.nodes(t, host), opts...)
}

func (w *world) over(t testing.TB, host string, masters []*node.Node, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	h := w.Host(host)
	l, err := redlock.New(masters, append([]redlock.Option{
		redlock.WithClock(h.Clock()), redlock.WithOwner(host),
	}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if h.Dead() {
			h.Drain()
		}
		h.Thaw()
		assert.NoError(t, l.Close())
	})
	return l
}

// logged is a locker, and what it logs.
func (w *world) logged(t testing.TB, host string, opts ...redlock.Option) (*redlock.Locker, *logbook) {
	t.Helper()
	log := new(logbook)
	return w.locker(t, host, append(opts, redlock.WithLogger(log.logger()))...), log
}

// holders says on which masters the name is held by the token.
func (w *world) holders(name, token string) int {
	n := 0
	for _, m := range w.Masters() {
		if m.Get(name) == token {
			n++
		}
	}
	return n
}

// keys returns how many keys there are on all masters together.
func (w *world) keys() int { return keysOn(w.Masters()) }

func keysOn(masters []*simnet.Master) (n int) {
	each(masters, func(m *simnet.Master) { n += len(m.Keys()) })
	return n
}

// foreign sets the name on masters as another client's SET NX would; without masters, on all.
func (w *world) foreign(name string, ttl time.Duration, masters ...int) {
	for i, m := range w.Masters() {
		if len(masters) == 0 || slices.Contains(masters, i) {
			m.Set(name, "foreign", ttl)
		}
	}
}

// some returns masters from, from+1 … below to.
func (w *world) some(from, to int) []*simnet.Master { return w.Masters()[from:to] }

func each(masters []*simnet.Master, do func(*simnet.Master)) {
	for _, m := range masters {
		do(m)
	}
}

// refuse has a master end its connections, and refuse others.
func refuse(m *simnet.Master) {
	m.Refuse()
	m.Reset()
}

// delay makes each way to and from every master that long.
func (w *world) delay(way time.Duration) {
	each(w.Masters(), func(m *simnet.Master) { m.Delay(way, 0) })
}

// distance is delay for the ways of one host.
func (w *world) distance(host string, way time.Duration) {
	for i := range w.Masters() {
		w.Host(host).To(i).Delay(way, 0)
	}
}

// asked returns what masters were sent, the commands of connecting left out. The commands of scripts are not among it.
func (w *world) asked() []simnet.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []simnet.Event
	for _, e := range w.events {
		switch strings.ToUpper(e.Args[0]) {
		case "INFO", "HELLO", "AUTH", "SELECT", "CLIENT", "PING", "SUBSCRIBE", "UNSUBSCRIBE":
		default:
			all = append(all, e)
		}
	}
	return all
}

// unasked asserts that no master was sent anything since the last forget.
func (w *world) unasked(t testing.TB) {
	t.Helper()
	synctest.Wait()
	assert.Empty(t, w.events)
}

// forget empties the record of what was asked.
func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = nil
}

// sets returns the SET commands among what was asked.
func (w *world) sets() []simnet.Event {
	var sets []simnet.Event
	for _, e := range w.asked() {
		if strings.EqualFold(e.Args[0], "SET") {
			sets = append(sets, e)
		}
	}
	return sets
}

// lock takes a lock that must be free.
func lock(t testing.TB, l *redlock.Locker, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lk, err := l.TryLock(t.Context(), name, opts...)
	require.NoError(t, err)
	return lk
}

// warm makes the connections, and forgets what it took.
func (w *world) warm(t testing.TB, l *redlock.Locker) {
	t.Helper()
	lk := lock(t, l, "warm up")
	synctest.Wait()
	unlock(t, lk)
	synctest.Wait()
	w.forget()
}

// unlock releases a lock that must be held.
func unlock(t testing.TB, lk *redlock.Lock) {
	t.Helper()
	require.NoError(t, lk.Unlock(t.Context()))
}

// inspect returns what the masters report of a name.
func inspect(t testing.TB, l *redlock.Locker, name string) redlock.Holding {
	t.Helper()
	h, err := l.Inspect(t.Context(), name)
	require.NoError(t, err)
	return h
}

// holder returns the only holder of a name.
func holder(t testing.TB, l *redlock.Locker, name string) redlock.Holder {
	t.Helper()
	holders := inspect(t, l, name).Holders
	require.Len(t, holders, 1)
	return holders[0]
}

// attempt is what a Lock or TryLock in the background returned.
type attempt struct {
	lock *redlock.Lock
	err  error
	took time.Duration
}

// started calls f in another goroutine.
func started(f func() (*redlock.Lock, error)) <-chan attempt {
	out := make(chan attempt, 1)
	began := time.Now()
	go func() {
		lk, err := f()
		out <- attempt{lk, err, time.Since(began)}
	}()
	return out
}

// inBackground calls f in another goroutine and returns once every goroutine is blocked.
func inBackground(f func() (*redlock.Lock, error)) <-chan attempt {
	out := started(f)
	synctest.Wait()
	return out
}

// locking calls Lock in the background.
func locking(ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption) <-chan attempt {
	return inBackground(func() (*redlock.Lock, error) { return l.Lock(ctx, name, opts...) })
}

// waiting fails the test if the attempt has ended.
func waiting(t testing.TB, out <-chan attempt, msg ...any) {
	t.Helper()
	synctest.Wait()
	select {
	case a := <-out:
		require.Fail(t, "it did not wait", "%v %v", a.err, msg)
	default:
	}
}

// ended returns an attempt that must have ended within d.
func ended(t testing.TB, out <-chan attempt, d time.Duration) attempt {
	t.Helper()
	synctest.Wait()
	select {
	case a := <-out:
		return a
	case <-time.After(d + 1):
		require.Fail(t, "it still waits")
		return attempt{}
	}
}

// granted returns the lock of an attempt that must have it within d.
func granted(t testing.TB, out <-chan attempt, d time.Duration, msg ...any) *redlock.Lock {
	t.Helper()
	a := ended(t, out, d)
	require.NoError(t, a.err, msg...)
	return a.lock
}

var within = testmain.Within

// ends says whether ctx has ended, and waits for everything to stand still before it looks.
func ends(ctx context.Context) bool {
	synctest.Wait()
	return ctx.Err() != nil
}

var errOwn = errors.New("the caller's own")

// logbook is what a Locker logged.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(r, nil)) }

func (r *logbook) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// lines returns the lines that contain what.
func (r *logbook) lines(what string) (some []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(r.text.String()) {
		if strings.Contains(line, what) {
			some = append(some, line)
		}
	}
	return some
}

func TestMain(m *testing.M) { testmain.Run(m) }
