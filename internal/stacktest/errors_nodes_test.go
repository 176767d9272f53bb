package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
)

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

// failing are operations of which the masters of a majority failed, 1, 3 and 4 of five.
var failing = append(failingTries(), []failure{
	{"lock that waited", "acquire", func(t *testing.T, _ *world, l *redlock.Locker, down func()) error {
		t.Helper()
		down()
		_, err := l.Lock(within(t, time.Minute), "x")
		return err
	}},
	{"do", "release", func(t *testing.T, _ *world, l *redlock.Locker, down func()) error {
		t.Helper()
		return l.Do(t.Context(), "x", func(context.Context) error {
			synctest.Wait()
			down()
			return nil
		}, redlock.WithoutKeepalive())
	}},
	{"inspect", "inspect", func(t *testing.T, _ *world, l *redlock.Locker, down func()) error {
		t.Helper()
		down()
		_, err := l.Inspect(t.Context(), "x")
		return err
	}},
	{"status", "status", func(t *testing.T, _ *world, l *redlock.Locker, down func()) error {
		t.Helper()
		down()
		_, err := l.Nodes(t.Context())
		return err
	}},
}...)

// failure is an operation that fails after down, and what the masters were asked.
type failure struct {
	name, op string
	fail     func(t *testing.T, w *world, l *redlock.Locker, down func()) error
}

// failingTries are the failures of every kind of lock.
func failingTries() (all []failure) {
	for _, k := range permitless {
		all = append(all, failure{k.name, "acquire", func(t *testing.T, _ *world, l *redlock.Locker, down func()) error {
			t.Helper()
			down()
			_, err := k.try(t.Context(), l)
			return err
		}})
		for op, do := range map[string]func(lk *redlock.Lock, ctx context.Context) error{
			"extend": (*redlock.Lock).Extend, "release": (*redlock.Lock).Unlock,
		} {
			all = append(all, failure{
				k.name + ", " + op, op, func(t *testing.T, _ *world, l *redlock.Locker, down func()) error {
					t.Helper()
					lk, err := k.try(t.Context(), l, redlock.WithoutKeepalive())
					require.NoError(t, err)
					synctest.Wait()
					down()
					return do(lk, t.Context())
				},
			})
		}
	}
	return all
}

// The second round trip of a lock with fencing raises the smaller counters of the other masters.
func TestAFailureToRaiseTheFenceNamesItsMasters(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithFencing())
		w.warm(t, l)
		for i, m := range w.Masters() {
			m.Set(kind.FenceKey("x"), fmt.Sprint(uint64(1)<<52+uint64(i)), time.Hour)
			m.Delay(10*time.Millisecond, 0)
		}
		out := inBackground(func() (*redlock.Lock, error) { return l.TryLock(t.Context(), "x") })
		time.Sleep(25 * time.Millisecond) // the answers are here, and the second question is not there yet
		for _, m := range w.Masters() {
			m.Reply("OOM command not allowed", "EVALSHA")
		}
		err := ended(t, out, time.Second).err
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		found := redlock.NodeErrors(err)
		require.NotEmpty(t, found)
		for _, failed := range found {
			assert.Equal(t, "raise", failed.Op)
			require.ErrorContains(t, failed.Err, "OOM")
		}
		w.Heal()
	})
}
