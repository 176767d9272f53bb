package integration_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/redisbox"
	"github.com/redlock-go/redlock/internal/testmain"
)

const (
	// ttl is the TTL of the tests' locks, and long the one under which no key ends by itself during a test.
	ttl  = 4 * time.Second
	long = 30 * time.Second
	// largest is the largest TTL of a Locker with its restart guard on. The five may vote when they have been up for it.
	largest = 5 * time.Second
	// nodeTimeout is generous: the machine that runs the tests is busy.
	nodeTimeout = time.Second
	// settled bounds what is cleared up after a fault.
	settled = 4 * time.Second
	// patience bounds the wait for what needs a timeout, a restart window or a busy machine.
	patience = 40 * time.Second
)

// The tests share five masters, one test at a time.
var five struct {
	once    sync.Once
	masters []*redisbox.Master
	err     error
}

type tests struct{ *testing.M }

func (m tests) Run() int {
	status := m.M.Run()
	if err := redisbox.CloseAll(five.masters); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = max(status, 1)
	}
	return status
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(tests{m}) }

// masters returns the five, healthy, empty and allowed to vote. No goroutine of the test may survive it.
func masters(t *testing.T) []*redisbox.Master {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	redisbox.Need(t)
	const window = largest + largest/50
	ctx := within(t, time.Minute+window)
	five.once.Do(func() { five.masters, five.err = redisbox.Start(ctx, 5, redisbox.Options{}) })
	require.NoError(t, five.err)
	all(t, (*redisbox.Master).Restore, five.masters...)
	require.NoError(t, redisbox.WaitUptime(ctx, window, five.masters...))
	all(t, (*redisbox.Master).Wipe, five.masters...)
	t.Cleanup(func() { showLogs(t, five.masters) })
	return five.masters
}

func showLogs(t *testing.T, masters []*redisbox.Master) {
	t.Helper()
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, m := range masters {
		text, err := m.Logs(ctx)
		t.Logf("log of master %s (%v):\n%s", m, err, text)
	}
}

// open returns a Locker over masters that is closed with the test.
func open(t *testing.T, masters []*redisbox.Master, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	return openAt(t, redisbox.URLs(masters), opts...)
}

// openLong returns a Locker whose locks do not end during the test, and which needs no restart window.
func openLong(t *testing.T, masters []*redisbox.Master, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	return open(t, masters, append([]redlock.Option{redlock.WithTTL(long), redlock.WithoutRestartGuard()}, opts...)...)
}

func openAt(t *testing.T, urls []string, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	opts = append([]redlock.Option{
		redlock.WithTTL(ttl), redlock.WithNodeTimeout(nodeTimeout), redlock.WithMaxTTL(largest),
	}, opts...)
	locker, err := redlock.Open(urls, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locker.Close()) })
	return locker
}

var within = testmain.Within

// lock takes a lock that can be had.
func lock(t *testing.T, locker *redlock.Locker, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	l, err := locker.Lock(within(t, patience), name, opts...)
	require.NoError(t, err)
	return l
}

func unlock(t *testing.T, l *redlock.Lock) {
	t.Helper()
	require.NoError(t, l.Unlock(t.Context()))
}

// all runs a fault on several masters at once.
func all(t *testing.T, fault func(*redisbox.Master, context.Context) error, masters ...*redisbox.Master) {
	t.Helper()
	ctx := within(t, patience)
	errs := make([]error, len(masters))
	var done sync.WaitGroup
	for i, m := range masters {
		done.Go(func() { errs[i] = fault(m, ctx) })
	}
	done.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

func ask(t *testing.T, m *redisbox.Master, args ...any) any {
	t.Helper()
	reply, err := m.Do(t.Context(), args...)
	require.NoError(t, err, "%v on %s", args, m)
	return reply
}

// eventually fails the test when check still returns an error after d. It calls it in the test's own goroutine.
func eventually(t *testing.T, d time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(d)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still after %v: %v", d, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// requireEmpty waits until no key is left on any of the masters, and fails the test when that takes longer than d.
func requireEmpty(t *testing.T, d time.Duration, masters ...*redisbox.Master) {
	t.Helper()
	eventually(t, d, func() error {
		for _, m := range masters {
			if keys := ask(t, m, "KEYS", "*").([]any); len(keys) > 0 {
				return fmt.Errorf("%s has %v", m, keys)
			}
		}
		return nil
	})
}

// requireNoGhosts fails the test if masters that have just come back from a fault have a key after d, or get one after
// that: what was sent to them before may still be on its way.
func requireNoGhosts(t *testing.T, d time.Duration, masters ...*redisbox.Master) {
	t.Helper()
	time.Sleep(d)
	for end := time.Now().Add(2 * outlast); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		requireEmpty(t, 0, masters...)
	}
}

// holders returns how many masters hold a lock for one client; 0 when no majority does.
func holders(t *testing.T, locker *redlock.Locker, name string) (votes int, token string) {
	t.Helper()
	seen, err := locker.Inspect(within(t, patience), name)
	require.NoError(t, err)
	if len(seen.Holders) == 0 {
		return 0, ""
	}
	require.Len(t, seen.Holders, 1, "%+v", seen)
	return seen.Holders[0].Votes, seen.Holders[0].Token
}

// takes takes a lock.
type takes = func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error)

// A kind is a way to hold a name.
type kind struct {
	name string
	is   string // as HeldError and Inspect call it
	lock func(l *redlock.Locker, name string) takes
	opts []redlock.LockOption
}

// kinds are all of them, each without fencing and with it.
func kinds() (all []kind) {
	for _, k := range []kind{
		{name: "mutex", is: "mutex", lock: func(l *redlock.Locker, name string) takes {
			return func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error) {
				return l.TryLock(ctx, name, opts...)
			}
		}},
		{name: "mutex of several", is: "mutex", lock: func(l *redlock.Locker, name string) takes {
			return func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error) {
				return l.TryLockAll(ctx, []string{name, name + ":also"}, opts...)
			}
		}},
		{name: "reader", is: "reader", lock: func(l *redlock.Locker, name string) takes { return l.RW(name).TryRLock }},
		{name: "writer", is: "writer", lock: func(l *redlock.Locker, name string) takes { return l.RW(name).TryLock }},
		{name: "reentrant", is: "reentrant", lock: func(l *redlock.Locker, name string) takes {
			return l.Reentrant(name, "worker-17").TryLock
		}},
	} {
		fenced := k
		fenced.name += " with fencing"
		fenced.opts = []redlock.LockOption{redlock.WithFencing()}
		all = append(all, k, fenced)
	}
	return all
}

// try takes a name in one round.
func (k kind) try(
	ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption,
) (*redlock.Lock, error) {
	return k.lock(l, name)(ctx, append(opts, k.opts...)...)
}

// fenced: its locks have fencing tokens.
func (k kind) fenced() bool { return len(k.opts) > 0 }

// plain: it is taken with nothing but SET NX PX.
func (k kind) plain() bool { return k.name == "mutex" }
