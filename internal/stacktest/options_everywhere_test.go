package stacktest_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testcert"
)

// way is a way to get a lock on name. It calls use while it has the lock, and returns the first error. The lock of some
// kinds has a second name as well.
type way func(ctx context.Context, l *redlock.Locker, name string, use func(*redlock.Lock), opts ...option) error

// locked is a way that returns a Lock.
func locked(of func(l *redlock.Locker, name string) ctxLock) way {
	return func(ctx context.Context, l *redlock.Locker, name string, use func(*redlock.Lock), opts ...option) error {
		lk, err := of(l, name)(ctx, opts...)
		if err != nil {
			return err
		}
		use(lk)
		return lk.Unlock(ctx)
	}
}

// done is a way that calls a function.
func done(of func(l *redlock.Locker, name string) ctxDo) way {
	return func(ctx context.Context, l *redlock.Locker, name string, use func(*redlock.Lock), opts ...option) error {
		return of(l, name)(ctx, func(ctx context.Context) error {
			lk, _ := redlock.FromContext(ctx)
			use(lk)
			return nil
		}, opts...)
	}
}

// ways are all ways to get a lock that take options: the methods of every kind, and those of an election.
var ways = everyWay()

func everyWay() map[string]way {
	all := maps.Clone(elections)
	for _, k := range kinds {
		methods := strings.Fields(k.methods)
		all[methods[0]] = locked(func(l *redlock.Locker, name string) ctxLock { return k.on(l, name).lock })
		all[methods[1]] = locked(func(l *redlock.Locker, name string) ctxLock { return k.on(l, name).try })
		all[methods[2]] = done(func(l *redlock.Locker, name string) ctxDo { return k.on(l, name).do })
	}
	return all
}

var elections = map[string]way{
	"Election.Campaign": locked(func(l *redlock.Locker, name string) ctxLock {
		return func(ctx context.Context, opts ...option) (*redlock.Lock, error) {
			leader, err := election.New(l, name, opts...).Campaign(ctx)
			if err != nil {
				return nil, err
			}
			lk, _ := redlock.FromContext(leader.Context())
			return lk, nil
		}
	}),
	"Election.Run": done(func(l *redlock.Locker, name string) ctxDo {
		return func(ctx context.Context, fn func(context.Context) error, opts ...option) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			err := election.New(l, name, opts...).Run(ctx, func(ctx context.Context) error {
				defer cancel() // it does not campaign again
				return fn(ctx)
			})
			if strings.Contains(err.Error(), "redlock: ") {
				return err
			}
			return nil
		}
	}),
}

// effects are the options, each with a function that reports whether it is in effect.
var effects = []struct {
	name    string
	on, off option // off is nil if no option turns on off
	effect  func(c *optionCall) bool
	skip    string // the ways that the option does not concern, or that always have it
}{
	{"WithTTL", redlock.WithTTL(3 * time.Second), redlock.WithTTL(ttl), func(c *optionCall) bool {
		var left, until time.Duration
		require.NoError(c, c.call(func(lk *redlock.Lock) {
			until = time.Until(lk.Until())
			left = holder(c, c.l, c.name).Left
		}))
		assert.Equal(c, left > 3*time.Second, until > 3*time.Second, "the masters and the Locker")
		return left <= 3*time.Second
	}, ""},
	{"WithoutKeepalive", redlock.WithoutKeepalive(), nil, func(c *optionCall) bool {
		return c.lost(15*time.Second, "its TTL of 10s ended")
	}, ""},
	{"WithMaxHold", redlock.WithMaxHold(time.Second), redlock.WithMaxHold(0), func(c *optionCall) bool {
		return c.lost(2*time.Second, "its maximum of 1s")
	}, ""},
	{"WithMinHold", redlock.WithMinHold(2 * time.Second), redlock.WithMinHold(0), func(c *optionCall) bool {
		require.NoError(c, c.call(func(*redlock.Lock) {}))
		if len(inspect(c, c.l, c.name).Holders) == 0 {
			return false
		}
		kept := holder(c, c.l, c.name)
		assert.True(c, strings.HasPrefix(kept.Token, "min-hold:"))
		assert.InDelta(c, 2*time.Second, kept.Left, float64(50*time.Millisecond))
		return true
	}, ""},
	{"WithFencing", redlock.WithFencing(), nil, func(c *optionCall) (fenced bool) {
		require.NoError(c, c.call(func(lk *redlock.Lock) { fenced = lk.Fence() != 0 }))
		return fenced
	}, "Election.Campaign Election.Run"},
	{
		"WithRetry", redlock.WithRetry(3*time.Millisecond, 5*time.Millisecond), redlock.WithRetry(time.Second, time.Second),
		func(c *optionCall) bool {
			lk, err := c.other.Lock(c.Context(), c.name)
			require.NoError(c, err)
			c.delays()
			time.AfterFunc(50*time.Millisecond, func() { assert.NoError(c, lk.Unlock(context.Background())) })
			require.NoError(c, c.call(func(*redlock.Lock) {}))
			delays := c.delays()
			require.NotEmpty(c, delays)
			return slices.Max(delays) <= 5*time.Millisecond
		}, "TryLock TryLockAll RW.TryLock RW.TryRLock Reentrant.TryLock Semaphore.TryAcquire",
	},
	{"WithoutHandOver", redlock.WithoutHandOver(), nil, func(c *optionCall) bool {
		before := c.l.Stats().HandedOver
		next := make(chan error, 1)
		require.NoError(c, c.call(func(*redlock.Lock) {
			blocking := ways[strings.NewReplacer("Try", "", "TryA", "A").Replace(c.way)]
			go func() { next <- blocking(context.Background(), c.l, c.name, func(*redlock.Lock) {}) }()
			synctest.Wait()
		}))
		require.NoError(c, <-next)
		return c.l.Stats().HandedOver == before
	}, "RW.Lock RW.TryLock RW.RLock RW.TryRLock RW.Do RW.RDo Reentrant.Lock Reentrant.TryLock Reentrant.Do " +
		"Election.Campaign Election.Run"},
}

// optionCall is a call of a way, by a Locker, with options.
type optionCall struct {
	*testing.T
	way      string
	l, other *redlock.Locker
	name     string
	opts     []option
	delays   func() []time.Duration // of the waits of its Locker since the last call
}

func (c *optionCall) call(use func(*redlock.Lock)) error {
	return ways[c.way](context.Background(), c.l, c.name, use, c.opts...)
}

// lost reports whether the lock is lost for a reason within d.
func (c *optionCall) lost(d time.Duration, why string) (lost bool) {
	c.Helper()
	err := c.call(func(lk *redlock.Lock) {
		time.Sleep(d)
		if err := lk.Err(); err != nil {
			lost = true
			require.ErrorIs(c, err, redlock.ErrLost)
			require.ErrorContains(c, err, why)
		}
	})
	if !lost {
		require.NoError(c, err)
	}
	return lost
}

// Every way to get a lock takes every option, from the call and from New, and a call's value wins.
func TestEveryWayTakesEveryOption(t *testing.T) {
	t.Parallel()
	for name := range ways {
		for _, o := range effects {
			if strings.Contains(" "+o.skip+" ", " "+name+" ") {
				continue
			}
			subWorld(t, name+", "+o.name, 3, func(t *testing.T, w *world) {
				var mu sync.Mutex
				var delays []time.Duration
				trace := redlock.WithTrace(&redlock.Trace{Waiting: func(_ context.Context, e redlock.WaitingEvent) {
					mu.Lock()
					defer mu.Unlock()
					delays = append(delays, e.Delay)
				}})
				since := func() (got []time.Duration) {
					mu.Lock()
					defer mu.Unlock()
					got, delays = delays, nil
					return got
				}
				plain, other := w.locker(t, "plain", trace), w.locker(t, "other")
				with := w.locker(t, "with", trace, o.on, redlock.WithMaxTTL(ttl))
				for what, tt := range map[string]struct {
					l    *redlock.Locker
					opts []option
					want bool
				}{
					"no option":         {plain, nil, false},
					"of the call":       {plain, []option{o.on}, true},
					"of New":            {with, nil, true},
					"of both":           {with, []option{o.on}, true},
					"the last one wins": {plain, []option{o.off, o.on}, true},
					"the call wins":     {with, []option{o.off}, false},
				} {
					if len(tt.opts) > 0 && tt.opts[0] == nil {
						continue
					}
					assert.Equal(t, tt.want, o.effect(&optionCall{t, name, tt.l, other, what, tt.opts, since}), what)
				}
			})
		}
	}
}

func TestATLSConfigurationOfALocker(t *testing.T) {
	t.Parallel()
	_, err := redlock.Open([]string{"rediss://10.0.0.1"}, redlock.WithTLSConfig(nil))
	require.ErrorContains(t, err, "redlock: TLS configuration nil")

	ca := testcert.New(t)
	config := ca.Trusting()
	option := redlock.WithTLSConfig(config)
	config.RootCAs = nil // it was copied
	cert, key, authority := ca.Files(ca.Valid())
	urls := redisproc.TLSURLs(redisproc.ForTLSTest(t, 2, cert, key, authority))
	urls = append(urls, redisproc.ForTest(t, 1)[0].URL())
	urls[1] = strings.Replace(urls[1], "rediss", "REDISS", 1)
	l, err := redlock.Open(urls, option, redlock.WithoutRestartGuard())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	unlock(t, lock(t, l, "x"))
	nodes, err := l.Nodes(t.Context())
	require.NoError(t, err)
	for _, n := range nodes {
		assert.True(t, n.Reachable, "%v", n.Err)
	}
	assert.Empty(t, config.ServerName)
}
