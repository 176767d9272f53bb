package stacktest_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

func TestBadInputIsRefusedByTheConstructor(t *testing.T) {
	t.Parallel()
	three := []string{"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"}
	third := func(url string) []string { return append(three[:2:2], url) }
	with := func(opts ...redlock.Option) []redlock.Option { return opts }
	for _, tt := range []struct {
		name string
		urls []string
		opts []redlock.Option
		want []string // parts of the error
	}{
		{"no URLs", nil, nil, []string{"no masters", "one, or an odd number"}},
		{"two URLs", three[:2], nil, []string{"2 masters", "odd number"}},
		{"four URLs", append(three[:3:3], "redis://10.0.0.4"), nil, []string{"4 masters", "no more failures than 3"}},
		{"the same address twice", third("redis://10.0.0.1:6379"), nil, []string{"10.0.0.1:6379 is given twice"}},
		{"the same address, another database", third("redis://10.0.0.1/7"), nil, []string{"10.0.0.1:6379 is given twice"}},
		{"the same address, another user", third("redis://u:secret@10.0.0.1"), nil, []string{"10.0.0.1:6379 is given twice"}},
		{"a space before a URL", third(" redis://10.0.0.3"), nil, []string{"begins or ends with white space"}},
		{"an unknown scheme", third("http://10.0.0.3"), nil, []string{`unknown scheme "http"`, "rediss://"}},
		{"no scheme", third("10.0.0.3"), nil, []string{"scheme"}},
		{"no URL at all", third(""), nil, []string{"URL of master 3 of 3 is empty"}},
		{"a blank URL", []string{three[0], " ", three[1]}, nil, []string{"URL of master 2 of 3 is empty"}},
		{"a URL that cannot be read", third("redis://u:secret@10.0.0.3:port"), nil, []string{"URL"}},

		{"TTL 0", three, with(redlock.WithTTL(0)), []string{"TTL 0s", "at least a millisecond"}},
		{"TTL below a millisecond", three, with(redlock.WithTTL(time.Microsecond)), []string{"TTL 1µs", "millisecond"}},
		{"TTL without a unit", three, with(redlock.WithTTL(30)), []string{"TTL 30ns", "millisecond"}},
		{
			"min hold above the max hold", three, with(redlock.WithMinHold(3*time.Second), redlock.WithMaxHold(2*time.Second)),
			[]string{"min hold 3s", "max hold of 2s", "WithMinHold", "WithMaxHold"},
		},
		{
			"TTL of what drift and node timeout take", three, with(redlock.WithTTL(52 * time.Millisecond)),
			[]string{"TTL 52ms", "52.52ms", "drift budget (2.52ms)", "node timeout (50ms)"},
		},
		{
			"TTL below a node timeout of one's own", three,
			with(redlock.WithTTL(time.Second), redlock.WithNodeTimeout(2*time.Second)),
			[]string{"TTL 1s", "node timeout (2s)"},
		},
		{
			"TTL above the max TTL", three,
			with(redlock.WithTTL(time.Minute), redlock.WithMaxTTL(time.Minute-time.Millisecond)),
			[]string{"TTL 1m0s is above the max TTL of 59.999s", "set WithMaxTTL to 1m0s in every client"},
		},
		{
			"min hold above the max TTL", three,
			with(redlock.WithMinHold(time.Minute+1), redlock.WithMaxTTL(time.Minute)),
			[]string{"min hold 1m0.000000001s is above the max TTL of 1m0s", "set WithMaxTTL to 1m0.000000001s"},
		},
		{"TTL as long as time itself", three, with(redlock.WithTTL(math.MaxInt64)), []string{"TTL"}},
		{"node timeout 0", three, with(redlock.WithNodeTimeout(0)), []string{"node timeout 0s", "above 0"}},
		{"max TTL 0", three, with(redlock.WithMaxTTL(0)), []string{"max TTL 0s", "WithoutRestartGuard"}},
		{"retry 0", three, with(redlock.WithRetry(0, time.Second)), []string{"retry from 0s to 1s"}},
		{"retry the wrong way round", three, with(redlock.WithRetry(2, 1)), []string{"retry from 2ns to 1ns"}},
		{"owner empty", three, with(redlock.WithOwner("")), []string{`owner ""`}},
		{"owner with a newline", three, with(redlock.WithOwner("a\nb")), []string{`owner "a\nb"`}},
		{"owner with a CSI", three, with(redlock.WithOwner("a\u009b")), []string{`owner "a\u009b"`}},
		{
			"owner like a minimum hold", three, with(redlock.WithOwner("min-hold:me")),
			[]string{`owner "min-hold:me": it must not begin with "min-hold:"`},
		},
		{"no logger", three, with(redlock.WithLogger(nil)), []string{"logger nil"}},
		{"no clock", three, with(redlock.WithClock(nil)), []string{"clock nil"}},
		{"a nil option", three, with(nil), []string{"nil Option"}},
		{
			"two of them, reported at once", three, with(redlock.WithNodeTimeout(-1), redlock.WithOwner("")),
			[]string{"node timeout", "owner"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := redlock.Open(tt.urls, tt.opts...)
			require.Error(t, err)
			assert.Nil(t, l)
			for _, part := range tt.want {
				assert.ErrorContains(t, err, part)
			}
			assert.True(t, strings.HasPrefix(err.Error(), "redlock: "), err.Error())
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestGoodInputIsTaken(t *testing.T) {
	t.Parallel()
	with := func(opts ...redlock.Option) []redlock.Option { return opts }
	for name, opts := range map[string][]redlock.Option{
		"none":                       nil,
		"nothing but a trace of nil": with(redlock.WithTrace(nil)),
		"TTL just long enough":       with(redlock.WithTTL(53 * time.Millisecond)),
		"TTL and min hold equal to the max TTL": with(
			redlock.WithTTL(time.Minute), redlock.WithMinHold(time.Minute), redlock.WithMaxTTL(time.Minute),
		),
		"TTL above the max TTL of a guard that is off": with(
			redlock.WithTTL(time.Minute), redlock.WithMaxTTL(time.Second), redlock.WithoutRestartGuard(),
		),
		"a lock's options as defaults": with(
			redlock.WithoutKeepalive(), redlock.WithMaxHold(time.Hour), redlock.WithRetry(1, 1),
		),
	} {
		for _, urls := range [][]string{
			{"redis://10.0.0.1"}, {"rediss://u:p@10.0.0.1:6380", "unix:///run/redis.sock", "redis://10.0.0.1/3"},
		} {
			l, err := redlock.Open(urls, opts...)
			require.NoError(t, err, name)
			require.NoError(t, l.Close())
		}
	}
}

func TestBadInputOfACallSendsNothing(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithNodeTimeout(100*time.Millisecond))
		ctx := t.Context()
		for what, acquire := range ways {
			for _, tt := range []struct {
				name string
				opt  redlock.LockOption
				want []string
			}{
				{"", redlock.WithMaxHold(0), []string{"name is empty"}},
				{"x", redlock.WithTTL(0), []string{"TTL 0s"}},
				{"x", redlock.WithTTL(-1), []string{"TTL"}},
				{"x", redlock.WithTTL(100 * time.Millisecond), []string{"TTL 100ms", "node timeout (100ms)"}},
				{"x", redlock.WithTTL(11 * time.Second), []string{"TTL 11s", "max TTL of 10s", "set WithMaxTTL to 11s"}},
				{"x", redlock.WithMinHold(11 * time.Second), []string{"min hold 11s", "max TTL of 10s", "set WithMaxTTL to 11s"}},
				{"x", redlock.WithMinHold(-1), []string{"min hold -1ns: it must not be negative"}},
				{"x", redlock.WithMaxHold(-1), []string{"max hold -1ns"}},
				{"x", redlock.WithRetry(5, 3), []string{"retry from 5ns to 3ns"}},
				{"x", nil, []string{"nil LockOption"}},
			} {
				err := acquire(ctx, l, tt.name, func(*redlock.Lock) {}, tt.opt)
				require.Error(t, err, what)
				for _, part := range tt.want {
					assert.ErrorContains(t, err, part, what)
				}
			}
		}
		lk, err := l.TryLock(ctx, "")
		require.ErrorContains(t, err, "name is empty")
		assert.Nil(t, lk)
		require.ErrorContains(t, l.Do(ctx, "", nil), "name is empty")
		long := strings.Repeat("x", 4097)
		for name, part := range map[string]string{"": "name is empty", long: "4097"} {
			_, err = l.Inspect(ctx, name)
			require.ErrorContains(t, err, part)
			require.ErrorContains(t, l.Release(ctx, name, "token"), part)
		}
		require.ErrorContains(t, l.Release(ctx, "x", long), "4097")
		require.ErrorContains(t, l.Release(ctx, "x", ""), "token is empty")
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
	longest := redlock.WithMaxTTL(30 * day)
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
			opts := []redlock.Option{redlock.WithTTL(3 * time.Hour), longest, o.set(d)}
			l, err := redlock.Open([]string{"redis://10.0.0.1:6379"}, opts...)
			if err == nil {
				require.NoError(t, l.Close())
			}
			return err
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
		_, err := redlock.Open([]string{"redis://10.0.0.1:6379"}, redlock.WithDrift(factor, 0))
		require.ErrorContains(t, err, "drift factor")
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
