package redlock_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/node"
)

func TestBadInputIsRefusedByTheConstructor(t *testing.T) {
	t.Parallel()
	three := []string{"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"}
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
		{"the same address twice", append(three[:2:2], "redis://10.0.0.1:6379"), nil, []string{"10.0.0.1:6379 is given twice"}},
		{"the same address, another database", append(three[:2:2], "redis://10.0.0.1/7"), nil, []string{"10.0.0.1:6379 is given twice"}},
		{"the same address, another user", append(three[:2:2], "redis://u:secret@10.0.0.1"), nil, []string{"10.0.0.1:6379 is given twice"}},
		{"an unknown scheme", append(three[:2:2], "http://10.0.0.3"), nil, []string{`unknown scheme "http"`, "rediss://"}},
		{"no scheme", append(three[:2:2], "10.0.0.3"), nil, []string{"scheme"}},
		{"no URL at all", append(three[:2:2], ""), nil, []string{"scheme"}},
		{"a URL that cannot be read", append(three[:2:2], "redis://u:secret@10.0.0.3:port"), nil, []string{"URL"}},

		{"TTL 0", three, with(redlock.WithTTL(0)), []string{"TTL 0s", "at least a millisecond"}},
		{"TTL negative", three, with(redlock.WithTTL(-time.Second)), []string{"TTL -1s"}},
		{"TTL below a millisecond", three, with(redlock.WithTTL(time.Microsecond)), []string{"TTL", "millisecond"}},
		{"TTL of what drift and node timeout take", three, with(redlock.WithTTL(52 * time.Millisecond)), []string{"TTL 52ms", "52.52ms", "drift budget (2.52ms)", "node timeout (50ms)"}},
		{"TTL below a node timeout of one's own", three, with(redlock.WithTTL(time.Second), redlock.WithNodeTimeout(2*time.Second)), []string{"TTL 1s", "node timeout (2s)"}},
		{"TTL above the restart window", three, with(redlock.WithTTL(time.Minute), redlock.WithRestartWindow(30*time.Second)), []string{"1m0s", "30s", "the largest TTL that anybody uses", "WithRestartWindow"}},
		{"TTL as long as time itself", three, with(redlock.WithTTL(math.MaxInt64)), []string{"TTL"}},
		{"node timeout 0", three, with(redlock.WithNodeTimeout(0)), []string{"node timeout 0s", "above 0"}},
		{"node timeout negative", three, with(redlock.WithNodeTimeout(-1)), []string{"node timeout -1ns"}},
		{"drift factor negative", three, with(redlock.WithDrift(-0.1, 0)), []string{"drift factor -0.1"}},
		{"drift factor 1", three, with(redlock.WithDrift(1, 0)), []string{"drift factor 1", "below 1"}},
		{"drift factor no number", three, with(redlock.WithDrift(math.NaN(), 0)), []string{"drift factor NaN"}},
		{"drift negative", three, with(redlock.WithDrift(0, -1)), []string{"drift of at least -1ns"}},
		{"restart window 0", three, with(redlock.WithRestartWindow(0)), []string{"restart window 0s", "WithoutRestartGuard"}},
		{"restart window negative", three, with(redlock.WithRestartWindow(-time.Hour)), []string{"restart window -1h0m0s"}},
		{"max hold negative", three, with(redlock.WithMaxHold(-1)), []string{"max hold -1ns"}},
		{"retry 0", three, with(redlock.WithRetry(0, time.Second)), []string{"retry from 0s to 1s"}},
		{"retry negative", three, with(redlock.WithRetry(-1, time.Second)), []string{"retry from -1ns"}},
		{"retry the wrong way round", three, with(redlock.WithRetry(2, 1)), []string{"retry from 2ns to 1ns"}},
		{"owner empty", three, with(redlock.WithOwner("")), []string{`owner ""`}},
		{"owner with a newline", three, with(redlock.WithOwner("a\nb")), []string{`owner "a\nb"`}},
		{"no logger", three, with(redlock.WithLogger(nil)), []string{"logger nil"}},
		{"no clock", three, with(redlock.WithClock(nil)), []string{"clock nil"}},
		{"a nil option", three, with(nil), []string{"nil Option"}},
		{"two of them, told at once", three, with(redlock.WithNodeTimeout(-1), redlock.WithOwner("")), []string{"node timeout", "owner"}},
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
	for _, tt := range []struct {
		name string
		urls []string
		opts []redlock.Option
	}{
		{"one master", []string{"redis://10.0.0.1"}, nil},
		{"TLS, a socket, a database", []string{"rediss://u:p@10.0.0.1:6380", "unix:///run/redis.sock", "redis://10.0.0.1/3"}, nil},
		{"nothing but a trace of nil", []string{"redis://10.0.0.1"}, []redlock.Option{redlock.WithTrace(nil)}},
		{"TTL just long enough", []string{"redis://10.0.0.1"}, []redlock.Option{redlock.WithTTL(53 * time.Millisecond)}},
		{"TTL equal to the window", []string{"redis://10.0.0.1"}, []redlock.Option{redlock.WithTTL(time.Minute), redlock.WithRestartWindow(time.Minute)}},
		{"TTL above the window of a guard that is off", []string{"redis://10.0.0.1"}, []redlock.Option{
			redlock.WithTTL(time.Minute), redlock.WithRestartWindow(time.Second), redlock.WithoutRestartGuard(),
		}},
		{"a lock's options as defaults", []string{"redis://10.0.0.1"}, []redlock.Option{
			redlock.WithoutKeepalive(), redlock.WithMaxHold(time.Hour), redlock.WithRetry(1, 1),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := redlock.Open(tt.urls, tt.opts...)
			require.NoError(t, err)
			require.NoError(t, l.Close())
		})
	}
}

func TestBadInputOfACallSendsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithNodeTimeout(100*time.Millisecond))
		ctx := t.Context()
		calls := map[string]func(name string, opts ...redlock.LockOption) error{
			"Lock": func(name string, opts ...redlock.LockOption) error {
				lk, err := l.Lock(ctx, name, opts...)
				assert.Nil(t, lk)
				return err
			},
			"TryLock": func(name string, opts ...redlock.LockOption) error {
				lk, err := l.TryLock(ctx, name, opts...)
				assert.Nil(t, lk)
				return err
			},
			"Do": func(name string, opts ...redlock.LockOption) error {
				return l.Do(ctx, name, nil, opts...)
			},
			"Attach": func(name string, opts ...redlock.LockOption) error {
				lk, err := l.Attach(ctx, name, "token", opts...)
				assert.Nil(t, lk)
				return err
			},
		}
		for what, call := range calls {
			for _, tt := range []struct {
				name string
				opt  redlock.LockOption
				want []string
			}{
				{"", redlock.WithMaxHold(0), []string{"name is empty"}},
				{"x", redlock.WithTTL(0), []string{"TTL 0s"}},
				{"x", redlock.WithTTL(-1), []string{"TTL"}},
				{"x", redlock.WithTTL(100 * time.Millisecond), []string{"TTL 100ms", "node timeout (100ms)"}},
				{"x", redlock.WithTTL(11 * time.Second), []string{"TTL 11s", "window of 10.102s", "largest TTL"}},
				{"x", redlock.WithMaxHold(-1), []string{"max hold -1ns"}},
				{"x", redlock.WithRetry(5, 3), []string{"retry from 5ns to 3ns"}},
				{"x", nil, []string{"nil LockOption"}},
			} {
				err := call(tt.name, tt.opt)
				require.Error(t, err, what)
				for _, part := range tt.want {
					assert.ErrorContains(t, err, part, what)
				}
			}
		}
		_, err := l.Attach(ctx, "x", "")
		require.ErrorContains(t, err, "token is empty")
		_, err = l.Inspect(ctx, "")
		require.ErrorContains(t, err, "name is empty")

		synctest.Wait()
		for _, m := range w.Masters() {
			assert.Zero(t, m.Dials())
		}
	})
}

func TestOpenAndNewSendNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		w.locker(t, "a")
		time.Sleep(time.Hour)
		for _, m := range w.Masters() {
			assert.Zero(t, m.Dials())
		}
	})
}

func TestNewRefusesMastersThatAreNil(t *testing.T) {
	t.Parallel()
	_, err := redlock.New([]*node.Node{nil})
	require.ErrorContains(t, err, "master 1 of 1 is nil")
}

func TestNewRefusesMastersOfAnotherLocker(t *testing.T) {
	t.Parallel()
	inWorld(t, 1, func(t *testing.T, w *world) {
		masters := w.nodes(t, "a")
		l := w.over(t, "a", masters)
		_, err := redlock.New(masters)
		require.ErrorIs(t, err, node.ErrBound)
		require.ErrorContains(t, err, "one node for each locker")
		unlock(t, lock(t, l, "x"))
	})
}

func TestOptionsOfACallHoldForThatCall(t *testing.T) {
	t.Parallel()
	inWorld(t, 1, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithTTL(5*time.Second), redlock.WithRestartWindow(time.Hour))
		unlock(t, lock(t, l, "x", redlock.WithTTL(time.Minute)))
		asked := time.Now()
		lk := lock(t, l, "x")
		assert.Equal(t, asked.Add(5*time.Second-52*time.Millisecond), lk.Until())
		unlock(t, lk)
	})
}

// TestTTLIsAWholeNumberOfMilliseconds: PX takes no less, and validity must not count on what was cut off.
func TestTTLIsAWholeNumberOfMilliseconds(t *testing.T) {
	t.Parallel()
	inWorld(t, 1, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithTTL(time.Second+999*time.Microsecond), redlock.WithDrift(0, 0))
		asked := time.Now()
		lk := lock(t, l, "x")
		assert.Equal(t, asked.Add(time.Second), lk.Until())
		assert.Equal(t, "1000", w.sets()[0].Args[5])
		unlock(t, lk)
	})
}
