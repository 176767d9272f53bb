package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

func replies(text string, commands ...string) func(*simnet.Master) {
	return func(m *simnet.Master) { m.Reply(text, commands...) }
}

// What can be wrong with a master, and how its answers then begin.
var troubles = []struct {
	name      string
	permanent bool // only an operator can fix it
	text      string
	make      func(m *simnet.Master)
}{
	{"a wrong password", true, "WRONGPASS", func(m *simnet.Master) { m.RequirePassword("another") }},
	{"no right to write", true, "NOPERM", replies("NOPERM User default has no right to run the 'set' command", "SET")},
	{"INFO refused", true, "WithoutRestartGuard", replies("NOPERM User default has no right to run 'info'", "INFO")},
	{"down", false, "refused", (*simnet.Master).Crash},
	{"frozen", false, "no answer in time", (*simnet.Master).Freeze},
	{"cut off", false, "no answer in time", func(m *simnet.Master) { m.BlackHole() }},
	{"loading", false, "LOADING", replies("LOADING Redis is loading the dataset in memory")},
	{"a replica", false, "READONLY", replies("READONLY You can't write against a read only replica.", "SET")},
	{"out of memory", false, "OOM", replies("OOM command not allowed when used memory > 'maxmemory'.", "SET")},
	{"just restarted", false, "restarted within the restart window", (*simnet.Master).Restart},
}

// passwords are URLs that carry one.
func (w *world) passwords() []string {
	var urls []string
	for _, u := range w.URLs() {
		urls = append(urls, strings.Replace(u, "redis://", "redis://:secret@", 1))
	}
	return urls
}

// TryLock names each of them. Lock fails if only an operator can fix it, and waits otherwise.
func TestWhatIsWrongWithAMajority(t *testing.T) {
	t.Parallel()
	for _, tt := range troubles {
		subWorld(t, tt.name, 5, func(t *testing.T, w *world) {
			each(w.Masters(), func(m *simnet.Master) { m.RequirePassword("secret") })
			l := w.over(t, "a", w.nodes(t, "a", w.passwords()...))
			each(w.some(0, 3), tt.make)
			_, err := l.TryLock(t.Context(), "x")
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			require.NotErrorIs(t, err, redlock.ErrHeld)
			for i, failed := range redlock.NodeErrors(err) {
				assert.Equal(t, []string{w.Addr(i), "acquire"}, []string{failed.Node, failed.Op})
			}
			require.Len(t, redlock.NodeErrors(err), 3)
			time.Sleep(2 * time.Second) // a first connection may have taken longer than its vote
			_, err = l.TryLock(t.Context(), "x")
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			assert.ErrorContains(t, err, tt.text)
			assert.NotContains(t, err.Error(), "secret")
			wellFormed(t, err)

			out := locking(within(t, time.Minute), l, "x")
			if tt.permanent {
				a := ended(t, out, time.Second)
				require.ErrorIs(t, a.err, redlock.ErrNoQuorum)
				require.NotErrorIs(t, a.err, context.DeadlineExceeded)
			} else {
				time.Sleep(5 * time.Second)
				waiting(t, out)
			}
			w.Heal()
			each(w.Masters(), func(m *simnet.Master) { m.RequirePassword("secret") })
			if !tt.permanent {
				unlock(t, granted(t, out, ttl+3*time.Second)) // the restart window of those that had crashed
			}
			time.Sleep(2 * time.Second)
			assert.Zero(t, w.keys())
		})
	}
}

// When Lock's context ends, the error matches the context's error and the reason for the wait.
func TestWhatLockWasWaitingFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		cause       func(w *world)
		want, other error
		text        string
	}{
		{"another holds it", func(w *world) {
			w.foreign("x", time.Hour)
		}, redlock.ErrHeld, redlock.ErrNoQuorum, "held by another"},
		{"another holds a majority, the rest is down", func(w *world) {
			w.foreign("x", time.Hour, 2, 3, 4)
			each(w.some(0, 2), (*simnet.Master).Crash)
		}, redlock.ErrHeld, redlock.ErrNoQuorum, "held by another"},
		{"three of five are down, another holds the rest", func(w *world) {
			w.foreign("x", time.Hour, 3, 4)
			each(w.some(0, 3), (*simnet.Master).Crash)
		}, redlock.ErrNoQuorum, redlock.ErrHeld, "refused"},
		{"three of five are frozen, another holds the rest", func(w *world) {
			w.foreign("x", time.Hour, 3, 4)
			each(w.some(0, 3), (*simnet.Master).Freeze)
		}, redlock.ErrNoQuorum, redlock.ErrHeld, "no answer in time"},
	} {
		subWorld(t, tt.name, 5, func(t *testing.T, w *world) {
			l := w.locker(t, "a")
			tt.cause(w)
			_, tried := l.TryLock(t.Context(), "x")
			_, late := l.Lock(within(t, 3*time.Second), "x")
			require.ErrorIs(t, late, context.DeadlineExceeded)
			assert.ErrorContains(t, late, tt.text)
			assert.ErrorContains(t, late, "gave up after 3s")

			ctx, cancel := context.WithCancel(t.Context())
			first := locking(ctx, l, "x")
			time.Sleep(3 * time.Second)
			second := locking(ctx, l, "x") // waits in the queue
			time.Sleep(time.Second)
			cancel()
			canceled := []error{ended(t, first, time.Second).err, ended(t, second, time.Second).err}
			for _, err := range canceled {
				require.ErrorIs(t, err, context.Canceled)
			}
			for _, err := range append(canceled, tried, late) {
				require.ErrorIs(t, err, tt.want)
				require.NotErrorIs(t, err, tt.other)
			}
			w.Heal()
			time.Sleep(2 * time.Second)
		})
	}
}

// everyCall makes every call that asks the masters. It returns the errors by call.
func everyCall(ctx context.Context, l *redlock.Locker) map[string]error {
	all := map[string]error{
		"Release": l.Release(ctx, "x", "token"),
		"Inspect": errorOf(l.Inspect(ctx, "x")),
		"Nodes":   errorOf(l.Nodes(ctx)),
	}
	for _, k := range kinds {
		all[k.name+", lock"] = errorOf(k.lock(ctx, l))
		all[k.name+", try"] = errorOf(k.try(ctx, l))
		all[k.name+", do"] = k.do(ctx, l, func(context.Context) error { panic("not to be run") })
	}
	return all
}

func TestAnEndedContextAsksNothing(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		held := lock(t, l, "held", redlock.WithoutKeepalive())
		synctest.Wait()
		w.forget()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, held.Extend(ctx), context.Canceled)
		for what, err := range everyCall(ctx, l) {
			require.ErrorIs(t, err, context.Canceled, what)
		}
		w.unasked(t)
	})
}

func TestNamesMayBeAnyBytes(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		for _, name := range []string{
			"\x00", "a\x00b", "\r\n", "a\nb", "{", "{}", "{a}b", " ", "%s", "ключ", "锁", "\xff\xfe",
			strings.Repeat("long", 1024), "*", "redlock:x", "$1\r\n",
		} {
			lk := lock(t, a, name)
			assert.Equal(t, name, lk.Name())
			synctest.Wait()
			assert.Equal(t, 3, w.holders(name, lk.Token()), "the key is the name, byte for byte: %.20q", name)
			out := locking(t.Context(), b, name, patient)
			waiting(t, out)
			require.NoError(t, lk.Extend(t.Context()))
			assert.Equal(t, lk.Token(), holder(t, b, name).Token)
			unlock(t, lk)
			unlock(t, granted(t, out, time.Second, "woken by the release of %.20q", name))
		}
		synctest.Wait()
		assert.Zero(t, w.keys())
	})
}

// manyErrors has many errors, of which its Unwrap shows one, as go-multierror's does.
type manyErrors []error

func (manyErrors) Error() string            { return "several" }
func (s manyErrors) WrappedErrors() []error { return s }
func (s manyErrors) Unwrap() error          { return s[0] }

func TestNodeErrors(t *testing.T) {
	t.Parallel()
	of := func(i int) *redlock.NodeError {
		return &redlock.NodeError{Node: fmt.Sprint("10.0.0.", i, ":6379"), Op: "extend", Err: errOwn}
	}
	one, two, three := of(1), of(2), of(3)
	for name, tt := range map[string]struct {
		err  error
		want []*redlock.NodeError
	}{
		"nil":              {nil, nil},
		"another":          {errOwn, nil},
		"a sentinel":       {redlock.ErrNoQuorum, nil},
		"itself":           {one, []*redlock.NodeError{one}},
		"wrapped":          {fmt.Errorf("a: %w", fmt.Errorf("b: %w", one)), []*redlock.NodeError{one}},
		"wrapped together": {fmt.Errorf("%w: %w, %w", redlock.ErrNoQuorum, two, one), []*redlock.NodeError{two, one}},
		"joined":           {errors.Join(one, errOwn, errors.Join(two, three)), []*redlock.NodeError{one, two, three}},
		"of many": {
			manyErrors{three, fmt.Errorf("c: %w", manyErrors{one, two})}, []*redlock.NodeError{three, one, two},
		},
		"an error twice":   {errors.Join(one, fmt.Errorf("d: %w", one)), []*redlock.NodeError{one}},
		"a master twice":   {errors.Join(one, of(1)), []*redlock.NodeError{one, of(1)}},
		"wrapping nothing": {fmt.Errorf("e: %w", error(nil)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, redlock.NodeErrors(tt.err))
		})
	}
}
