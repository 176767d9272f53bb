package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
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

// failure is an operation that fails after down, and what the masters were asked.
type failure struct {
	name, op string
	fail     func(ctx context.Context, l *redlock.Locker, down func()) error
}

// failing are operations of which the masters of a majority failed, 1, 3 and 4 of five.
var failing = append(failingTries(), []failure{
	{"lock that waited", "acquire", func(ctx context.Context, l *redlock.Locker, down func()) error {
		down()
		return errorOf(l.Lock(ctx, "x"))
	}},
	{"do", "release", func(ctx context.Context, l *redlock.Locker, down func()) error {
		return l.Do(ctx, "x", func(context.Context) error {
			synctest.Wait()
			down()
			return nil
		}, redlock.WithoutKeepalive())
	}},
	{"inspect", "inspect", func(ctx context.Context, l *redlock.Locker, down func()) error {
		down()
		return errorOf(l.Inspect(ctx, "x"))
	}},
	{"status", "status", func(ctx context.Context, l *redlock.Locker, down func()) error {
		down()
		return errorOf(l.Nodes(ctx))
	}},
}...)

// failingTries are the failures of every kind of lock.
func failingTries() (all []failure) {
	for _, k := range permitless {
		all = append(all, failure{k.name, "acquire", func(ctx context.Context, l *redlock.Locker, down func()) error {
			down()
			return errorOf(k.try(ctx, l))
		}})
		for op, do := range map[string]func(lk *redlock.Lock, ctx context.Context) error{
			"extend": (*redlock.Lock).Extend, "release": (*redlock.Lock).Unlock,
		} {
			name := k.name + ", " + op
			all = append(all, failure{name, op, func(ctx context.Context, l *redlock.Locker, down func()) error {
				lk, err := k.try(ctx, l, redlock.WithoutKeepalive())
				if err != nil {
					panic(err)
				}
				synctest.Wait()
				down()
				return do(lk, ctx)
			}})
		}
	}
	return all
}

const secretPassword, secretLabel = "s3cretword", "s3cretlabel"

func assertNoSecret(t *testing.T, shown ...any) {
	t.Helper()
	for _, s := range shown {
		for _, secret := range []string{secretPassword, secretLabel} {
			assert.NotContains(t, fmt.Sprint(s), secret)
		}
	}
}

// What a Locker shows of its masters is their addresses: in errors, in the rows of Nodes, in traces and in the log.
func TestALockerShowsNeitherUserNorQueryOfItsMasters(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var urls []string
		for _, m := range w.Masters() {
			m.RequirePassword(secretPassword)
			urls = append(urls, "redis://:"+secretPassword+"@"+m.Addr()+"/0?client_name="+secretLabel)
		}
		var mu sync.Mutex
		var traced []any
		var log logbook
		trace := hooked(func(_ string, event any) {
			mu.Lock()
			defer mu.Unlock()
			traced = append(traced, event)
		})
		l := w.over(t, "a", w.nodes(t, "a", urls...), redlock.WithLogger(log.logger()), redlock.WithTrace(trace))
		held := lock(t, l, "held")
		for name, fault := range map[string]func(){
			"another password": func() {
				each(w.Masters(), func(m *simnet.Master) { m.RequirePassword("another"); m.Reset() })
			},
			"frozen": func() { each(w.Masters(), (*simnet.Master).Freeze) },
			"gone":   func() { each(w.Masters(), (*simnet.Master).Crash) },
		} {
			fault()
			for range 20 { // as it is noticed, and after
				_, err := l.TryLock(t.Context(), "x")
				require.Error(t, err, name)
				found := redlock.NodeErrors(err)
				require.NotEmpty(t, found, name)
				assertNoSecret(t, err)
				for _, failed := range found {
					assert.Contains(t, w.URLs(), "redis://"+failed.Node)
					assertNoSecret(t, failed.Node, failed.Err, failed)
				}
				assertNoSecret(t, held.Extend(t.Context()))
				rows, err := l.Nodes(t.Context())
				assertNoSecret(t, err)
				for _, row := range rows {
					assertNoSecret(t, row.Node, row.Err, fmt.Sprintf("%+v", row))
				}
				time.Sleep(200 * time.Millisecond)
			}
			for _, m := range w.Masters() {
				if !m.Up() {
					m.Restart()
				}
				m.RequirePassword(secretPassword)
			}
			w.Heal()
			time.Sleep(20 * time.Second)
		}
		_ = held.Unlock(t.Context())
		mu.Lock()
		defer mu.Unlock()
		require.NotEmpty(t, traced)
		require.NotEmpty(t, log.lines(""))
		assertNoSecret(t, traced...)
		assertNoSecret(t, log.lines(""))
	})
}
