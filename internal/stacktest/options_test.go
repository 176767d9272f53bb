package stacktest_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

// opening returns the error of Open, and closes what it opened.
func opening(t *testing.T, urls []string, opts ...redlock.Option) error {
	t.Helper()
	l, err := redlock.Open(urls, opts...)
	if err != nil {
		assert.Nil(t, l)
		return err
	}
	return l.Close()
}

// says asserts that an error is well-formed and has the parts of want, in a text where " … " separates them.
func says(t *testing.T, want string, err error, msg ...any) {
	t.Helper()
	require.Error(t, err, msg...)
	wellFormed(t, err)
	for part := range strings.SplitSeq(want, " … ") {
		assert.ErrorContains(t, err, part, msg...)
	}
	assert.NotContains(t, err.Error(), "secret")
}

func TestBadInputIsRefusedByTheConstructor(t *testing.T) {
	t.Parallel()
	three := []string{"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"}
	third := func(url string) error { return opening(t, append(three[:2:2], url)) }
	with := func(opts ...redlock.Option) error { return opening(t, three, opts...) }
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "10.0.0.1:6379"}})
	defer ring.Close()
	client := redis.NewClient(&redis.Options{Addr: "10.0.0.1:6379"})
	defer client.Close()
	for _, tt := range []struct {
		want string
		err  error
	}{
		{"no masters … one, or an odd number", opening(t, nil)},
		{"2 masters … odd number", opening(t, three[:2])},
		{"4 masters … no more failures than 3", opening(t, append(three[:3:3], "redis://10.0.0.4"))},
		{"10.0.0.1:6379 is given twice", third("redis://10.0.0.1:6379")},
		{"10.0.0.1:6379 is given twice", third("redis://10.0.0.1/7")},
		{"10.0.0.1:6379 is given twice", third("redis://u:secret@10.0.0.1")},
		{"begins or ends with white space", third(" redis://10.0.0.3")},
		{`unknown scheme "http" … rediss://`, third("http://10.0.0.3")},
		{"scheme", third("10.0.0.3")},
		{"URL of master 3 of 3 is empty", third("")},
		{"URL of master 2 of 3 is empty", opening(t, []string{three[0], " ", three[1]})},
		{"URL", third("redis://u:secret@10.0.0.3:port")},
		{"master 1 of 1 is nil", errorOf(redlock.New([]*node.Node{nil}))},
		{"Wrap needs a client", errorOf(redlock.Wrap(nil))},
		{"Wrap needs a client", errorOf(redlock.Wrap((*redis.Client)(nil)))},
		{"Wrap cannot use a *redis.Ring: give it a *redis.Client or a *redis.Cluster", errorOf(redlock.Wrap(ring))},
		{"TTL -1ns", errorOf(redlock.Wrap(client, redlock.WithTTL(-1)))},

		{"TTL 0s … at least a millisecond", with(redlock.WithTTL(0))},
		{"TTL 1µs … millisecond", with(redlock.WithTTL(time.Microsecond))},
		{"TTL 30ns … millisecond", with(redlock.WithTTL(30))}, // a number without a unit
		{
			"min hold 3s … max hold of 2s … WithMinHold … WithMaxHold",
			with(redlock.WithMinHold(3*time.Second), redlock.WithMaxHold(2*time.Second)),
		},
		{"TTL 52ms … 52.52ms … drift budget (2.52ms) … node timeout (50ms)", with(redlock.WithTTL(52 * time.Millisecond))},
		{"TTL 1s … node timeout (2s)", with(redlock.WithTTL(time.Second), redlock.WithNodeTimeout(2*time.Second))},
		{
			"TTL 1m0s is above the max TTL of 59.999s … set WithMaxTTL to 1m0s in every client",
			with(redlock.WithTTL(time.Minute), redlock.WithMaxTTL(time.Minute-time.Millisecond)),
		},
		{
			"min hold 1m0.000000001s is above the max TTL of 1m0s … set WithMaxTTL to 1m0.000000001s",
			with(redlock.WithMinHold(time.Minute+1), redlock.WithMaxTTL(time.Minute)),
		},
		{"TTL", with(redlock.WithTTL(math.MaxInt64))},
		{"node timeout 0s … above 0", with(redlock.WithNodeTimeout(0))},
		{"max TTL 0s … WithoutRestartGuard", with(redlock.WithMaxTTL(0))},
		{"retry from 0s to 1s", with(redlock.WithRetry(0, time.Second))},
		{"retry from 2ns to 1ns", with(redlock.WithRetry(2, 1))},
		{`owner ""`, with(redlock.WithOwner(""))},
		{`owner "a\nb"`, with(redlock.WithOwner("a\nb"))},
		{`owner "a\u009b"`, with(redlock.WithOwner("a\u009b"))}, // a control character
		{`owner "min-hold:me": it must not begin with "min-hold:"`, with(redlock.WithOwner("min-hold:me"))},
		{`ooo…" has 1025 bytes: it may have at most 1024`, with(redlock.WithOwner(strings.Repeat("o", 1025)))},
		{"logger nil", with(redlock.WithLogger(nil))},
		{"clock nil", with(redlock.WithClock(nil))},
		{"nil Option", with(nil)},
		{"node timeout -1ns … owner", with(redlock.WithNodeTimeout(-1), redlock.WithOwner(""))}, // both at once
	} {
		says(t, tt.want, tt.err, tt.want)
	}
}

func TestGoodInputIsTaken(t *testing.T) {
	t.Parallel()
	for _, urls := range [][]string{
		{"redis://10.0.0.1"}, {"rediss://u:p@10.0.0.1:6380", "unix:///run/redis.sock", "redis://10.0.0.1/3"},
	} {
		for name, err := range map[string]error{
			"no option":            opening(t, urls),
			"a trace of nil":       opening(t, urls, redlock.WithTrace(nil)),
			"TTL just long enough": opening(t, urls, redlock.WithTTL(53*time.Millisecond)),
			"TTL and min hold equal to the max TTL": opening(
				t, urls, redlock.WithTTL(time.Minute), redlock.WithMinHold(time.Minute), redlock.WithMaxTTL(time.Minute),
			),
			"TTL above the max TTL of a guard that is off": opening(
				t, urls, redlock.WithTTL(time.Minute), redlock.WithMaxTTL(time.Second), redlock.WithoutRestartGuard(),
			),
		} {
			require.NoError(t, err, name)
		}
	}
}

func TestBadInputOfACallSendsNothing(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithNodeTimeout(100*time.Millisecond))
		ctx := t.Context()
		long := strings.Repeat("é", 2049) // 4,098 bytes
		cut := strings.Repeat("é", 24) + `…" (4098 bytes): the name `
		for what, acquire := range ways {
			for _, tt := range []struct {
				name, want string
				opt        redlock.LockOption
			}{
				{"", "name is empty", redlock.WithMaxHold(0)},
				{long, "4096", redlock.WithMaxHold(0)},
				{"x", "TTL 0s", redlock.WithTTL(0)},
				{"x", "TTL", redlock.WithTTL(-1)},
				{"x", "TTL 100ms … node timeout (100ms)", redlock.WithTTL(100 * time.Millisecond)},
				{"x", "TTL 11s … max TTL of 10s … set WithMaxTTL to 11s", redlock.WithTTL(11 * time.Second)},
				{"x", "min hold 11s … max TTL of 10s … set WithMaxTTL to 11s", redlock.WithMinHold(11 * time.Second)},
				{"x", "min hold -1ns: it must not be negative", redlock.WithMinHold(-1)},
				{"x", "max hold -1ns", redlock.WithMaxHold(-1)},
				{"x", "retry from 5ns to 3ns", redlock.WithRetry(5, 3)},
				{"x", "nil LockOption", nil},
			} {
				says(t, tt.want, acquire(ctx, l, tt.name, func(*redlock.Lock) {}, tt.opt), what)
			}
		}
		lk, err := l.TryLock(ctx, "")
		says(t, `lock "": the lock's name is empty`, err)
		assert.Nil(t, lk)
		reserved := append(manyNames(255), kind.FenceKey(manyNames(6)[5]))
		for want, err := range map[string]error{
			`lock "` + cut + "has 4098 bytes: it may have at most 4096": errorOf(l.Lock(ctx, long)),
			`lock "x", "` + cut + `"éé … has 4098 bytes`:                errorOf(l.LockAll(ctx, []string{long, "x"})),
			`inspect "` + cut + "has 4098 bytes":                        errorOf(l.Inspect(ctx, long)),
			`release "` + cut + "has 4098 bytes":                        l.Release(ctx, long, "token"),

			`inspect "": the lock's name is empty`: errorOf(l.Inspect(ctx, "")),
			`release "": the lock's name is empty`: l.Release(ctx, "", "token"),
			`release "x": the token is empty`:      l.Release(ctx, "x", ""),
			`release "x": the token "ttt … ttt…" has 4097 bytes: it may have at most 4096`: l.Release(
				ctx, "x", strings.Repeat("t", 4097),
			),
			`lock "x": the owner is empty: give all callers`: errorOf(l.Reentrant("x", "").Lock(ctx)),
			`lock "x": the owner "ooo … ooo…" has 1025 bytes: it may have at most 1024`: errorOf(
				l.Reentrant("x", strings.Repeat("o", 1025)).Lock(ctx),
			),
			`lock "redlock:fence:x": the name is taken: those that begin with`: errorOf(l.Lock(ctx, "redlock:fence:x")),
			`253 more: the name "redlock:fence:{orders:000005-x … …" is taken`: errorOf(l.LockAll(ctx, reserved)),
			"lock: the list of names is empty":                                 errorOf(l.LockAll(ctx, nil)),
			"254 more: 257 names: one lock may have at most 256":               errorOf(l.LockAll(ctx, manyNames(257))),
			`do "x": fn is nil: pass the function to call under the lock`:      l.Do(ctx, "x", nil),
			`do "x", "y": fn is nil: pass the function to call under the lock`: l.DoAll(ctx, []string{"y", "x"}, nil),
		} {
			says(t, want, err)
			assert.Less(t, len(err.Error()), 800, "the text is truncated")
		}
		assert.Zero(t, l.Stats().Started, "these are no acquisitions")
		w.unasked(t)
	})
}

// The node timeout and the drift of a call are those of its TTL, in every operation of its lock.
func TestTheTermsOfACallFollowItsTTL(t *testing.T) {
	t.Parallel()
	for _, own := range []time.Duration{2 * time.Second, 4 * time.Second, ttl} {
		bubble(t, 3, func(t *testing.T, w *world) {
			l := w.locker(t, "a")
			w.warm(t, l)
			opts := []redlock.LockOption{redlock.WithTTL(own), redlock.WithoutKeepalive()}
			lk := lock(t, l, "x", opts...)
			assert.Equal(t, own-own/100-2*time.Millisecond, time.Until(lk.Until()))
			fails := func(what string, f func() error) {
				t.Helper()
				synctest.Wait()
				began := time.Now()
				require.ErrorIs(t, f(), redlock.ErrNoQuorum, what)
				assert.Equal(t, own/20, time.Since(began), "%s with a TTL of %v", what, own)
				w.Heal()
				time.Sleep(own / 8) // the masters answer again
				w.freeze()
			}
			w.freeze()
			fails("TryLock", func() error {
				_, err := l.TryLock(t.Context(), "y", opts...)
				return err
			})
			fails("Extend", func() error { return lk.Extend(t.Context()) })
			fails("Unlock", func() error { return lk.Unlock(t.Context()) })
		})
	}
}

const day = 24 * time.Hour

func TestEveryDurationHasAnUpperBound(t *testing.T) {
	t.Parallel()
	one := []string{"redis://10.0.0.1:6379"}
	for name, o := range map[string]struct {
		set   func(d time.Duration) redlock.Option
		bound time.Duration
		names string // how the error shows the bound
	}{
		"TTL":          {func(d time.Duration) redlock.Option { return redlock.WithTTL(d) }, 30 * day, "720h0m0s"},
		"max hold":     {func(d time.Duration) redlock.Option { return redlock.WithMaxHold(d) }, 30 * day, "720h0m0s"},
		"retry to":     {func(d time.Duration) redlock.Option { return redlock.WithRetry(1, d) }, time.Hour, "1h0m0s"},
		"retry":        {func(d time.Duration) redlock.Option { return redlock.WithRetry(d, d) }, time.Hour, "1h0m0s"},
		"node timeout": {redlock.WithNodeTimeout, time.Hour, "1h0m0s"},
		"drift":        {func(d time.Duration) redlock.Option { return redlock.WithDrift(0, d) }, time.Hour, "1h0m0s"},
		"max TTL":      {redlock.WithMaxTTL, 30 * day, "720h0m0s"},
	} {
		open := func(d time.Duration) error {
			return opening(t, one, redlock.WithTTL(3*time.Hour), redlock.WithMaxTTL(30*day), o.set(d))
		}
		require.NoError(t, open(o.bound), name)
		for _, d := range []time.Duration{o.bound + 1, math.MaxInt64} {
			err := open(d)
			require.Error(t, err, "%s %v", name, d)
			assert.ErrorContains(t, err, name)
			assert.ErrorContains(t, err, d.String())
			assert.ErrorContains(t, err, o.names)
		}
		for _, d := range []time.Duration{-1, math.MinInt64} {
			what, _, _ := strings.Cut(name, " ")
			require.ErrorContains(t, open(d), what, "%v", d)
		}
	}
	for _, factor := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.1, 1} {
		require.ErrorContains(t, opening(t, one, redlock.WithDrift(factor, 0)), "drift factor")
	}
}

func FuzzOptions(f *testing.F) {
	f.Add(
		int64(10*time.Second), int64(0), int64(time.Millisecond), int64(time.Second), int64(0), 0.01, int64(time.Millisecond),
		int64(0),
	)
	most := int64(math.MaxInt64)
	f.Add(most, most, most, most, most, math.MaxFloat64, most, most)
	f.Add(
		int64(30*day), int64(30*day), int64(time.Hour), int64(time.Hour), int64(time.Hour), 0.9, int64(time.Hour),
		int64(30*day),
	)
	f.Fuzz(func(t *testing.T, ttl, hold, least, longest, timeout int64, factor float64, drift, maxTTL int64) {
		opts := []redlock.Option{
			redlock.WithTTL(time.Duration(ttl)), redlock.WithMaxHold(time.Duration(hold)),
			redlock.WithRetry(time.Duration(least), time.Duration(longest)), redlock.WithDrift(factor, time.Duration(drift)),
		}
		if timeout != 0 {
			opts = append(opts, redlock.WithNodeTimeout(time.Duration(timeout)))
		}
		if maxTTL != 0 {
			opts = append(opts, redlock.WithMaxTTL(time.Duration(maxTTL)))
		}
		synctest.Test(t, func(t *testing.T) {
			w := simnet.New(t, 1, 1)
			m, err := node.Open(w.Master(0).URL(), node.WithDialer(w.Dial))
			require.NoError(t, err)
			l, err := redlock.New([]*node.Node{m}, opts...)
			if err != nil {
				return
			}
			defer l.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if lk, err := l.TryLock(ctx, "x"); err == nil {
				assert.False(t, lk.Until().Before(time.Now()))
				_ = lk.Unlock(ctx)
			}
		})
	})
}

func TestTheLongestThatIsAllowedWorks(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithOwner(strings.Repeat("o", 1024)))
		ctx := context.Background()
		name := func(i int) string { return fmt.Sprintf("%04096d", i) }
		lk := lock(t, l, name(0), redlock.WithFencing())
		require.NoError(t, l.Release(ctx, name(0), lk.Token()))
		var names []string
		for i := range 256 {
			names = append(names, name(i))
		}
		all, err := l.TryLockAll(ctx, append(names, names...), redlock.WithFencing())
		require.NoError(t, err, "repetitions do not count")
		unlock(t, all)
		owned, err := l.Reentrant(name(1), strings.Repeat("o", 1024)).TryLock(ctx)
		require.NoError(t, err)
		unlock(t, owned)
	})
}
