package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
)

// longNames returns as many names of 100 bytes as one lock may have.
func longNames() []string {
	names := make([]string, 256)
	for i := range names {
		names[i] = fmt.Sprintf("name-%03d-%s", i, strings.Repeat("x", 91))
	}
	return names
}

// short fails the test if a text about longNames is long, or shows a name twice.
func short(t *testing.T, what, text string) {
	t.Helper()
	assert.Less(t, len(text), 2000, "%s: %.300s", what, text)
	assert.LessOrEqual(t, strings.Count(text, "name-"), 5, "%s: %.300s", what, text)
	assert.LessOrEqual(t, strings.Count(text, "name-005"), 1, "%s: %.300s", what, text)
}

func TestErrorsAndLogsShowFewOfManyNames(t *testing.T) {
	t.Parallel()
	names := longNames()
	ctx := context.Background()
	cut := func(w *world) {
		for i := range 3 {
			w.Host("a").To(i).BlackHole()
		}
	}
	take := func(l *redlock.Locker, opts ...redlock.LockOption) *redlock.Lock {
		lk, err := l.TryLockAll(ctx, names, opts...)
		if err != nil {
			panic(err)
		}
		return lk
	}
	for what, c := range map[string]struct {
		want error
		do   func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error)
	}{
		"held": {redlock.ErrHeld, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			w.foreign(names[5], time.Minute)
			_, err := l.TryLockAll(ctx, names)
			var held *redlock.HeldError
			require.ErrorAs(t, err, &held)
			assert.Equal(t, names[5], held.Name, "it stays whole")
			return nil, err
		}},
		"gave up, held": {redlock.ErrHeld, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			w.foreign(names[5], time.Minute)
			_, err := l.LockAll(within(t, time.Second), names)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return nil, err
		}},
		"a used up counter": {nil, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			for _, m := range w.Masters() {
				m.Set(kind.FenceKey(names[5]), "9007199254740991", time.Hour)
			}
			_, err := l.TryLockAll(ctx, names, redlock.WithFencing())
			return nil, err
		}},
		"a reserved name": {nil, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			_, err := l.LockAll(ctx, append([]string{kind.FenceKey(names[5])}, names[1:]...))
			return nil, err
		}},
		"too many names": {nil, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			_, err := l.LockAll(ctx, append([]string{"one more"}, names...))
			return nil, err
		}},
		"lost under Do": {redlock.ErrLost, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			return nil, l.DoAll(ctx, names, func(ctx context.Context) error {
				w.foreign(names[5], time.Minute)
				<-ctx.Done()
				short(t, "the cause", context.Cause(ctx).Error())
				return context.Cause(ctx)
			})
		}},
		"lost at its deadline": {redlock.ErrLost, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			lk := take(l, redlock.WithoutKeepalive())
			time.Sleep(ttl)
			return lk, lk.Unlock(ctx)
		}},
		"not extended": {redlock.ErrNoQuorum, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			lk := take(l)
			synctest.Wait()
			cut(w)
			err := lk.Extend(ctx)
			time.Sleep(2 * ttl) // the keepalive fails, too
			return lk, err
		}},
		"released": {redlock.ErrReleased, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			lk := take(l)
			work, cancel := lk.WithContext(ctx)
			defer cancel()
			unlock(t, lk)
			synctest.Wait()
			short(t, "the cause", context.Cause(work).Error())
			return lk, errors.Join(lk.Unlock(ctx))
		}},
	} {
		subWorld(t, what, 5, func(t *testing.T, w *world) {
			var log logbook // of errors in events, too
			trace := hooked(func(_ string, event any) {
				if err := reflect.ValueOf(event).FieldByName("Err"); err.IsValid() && !err.IsNil() {
					_, _ = fmt.Fprintln(&log, err)
				}
			})
			lk, err := c.do(t, w, w.locker(t, "a", redlock.WithLogger(log.logger()), redlock.WithTrace(trace)))
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			short(t, "the error", err.Error())
			if lk != nil {
				assert.Equal(t, strings.Join(names, ","), lk.Name(), "it stays whole")
				if err := lk.Err(); err != nil {
					short(t, "Err", err.Error())
				}
			}
			for _, line := range log.lines("") {
				assert.Less(t, len(line), 2000, "%.300s", line)
			}
		})
	}
}

func TestErrorsAboutSlotsShowAPartOfLongNames(t *testing.T) {
	t.Parallel()
	long := func(s string) string { return s + strings.Repeat("x", 4095) }
	for _, names := range [][]string{{long("a"), long("b")}, {long("{}") + "{a}"}} {
		err := kind.CheckHashSlots("cluster:7000", names)
		require.Error(t, err)
		assert.Less(t, len(err.Error()), 600)
	}
}
