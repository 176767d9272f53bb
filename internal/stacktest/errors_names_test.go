package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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
		"gave up, no quorum": {redlock.ErrNoQuorum, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			cut(w)
			_, err := l.LockAll(within(t, 2*time.Second), names)
			return nil, err
		}},
		"gave up in the queue": {redlock.ErrHeld, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			w.foreign(names[5], time.Minute)
			first := inBackground(func() (*redlock.Lock, error) { return l.LockAll(within(t, 2*time.Second), names) })
			_, err := l.LockAll(within(t, time.Second), names)
			short(t, "the first", ended(t, first, time.Minute).err.Error())
			return nil, err
		}},
		"no quorum": {redlock.ErrNoQuorum, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			cut(w)
			_, err := l.TryLockAll(ctx, names)
			return nil, err
		}},
		"a used up counter": {nil, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			for _, m := range w.Masters() {
				m.Set(kind.FenceKey(names[5]), "9007199254740991", time.Hour)
			}
			_, err := l.TryLockAll(ctx, names, redlock.WithFencing())
			return nil, err
		}},
		"not asked": {context.Canceled, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			over, cancel := context.WithCancel(ctx)
			cancel()
			_, err := l.LockAll(over, names)
			return nil, err
		}},
		"an empty name": {nil, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			_, err := l.LockAll(ctx, append([]string{""}, names[1:]...))
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
		"no function": {nil, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			return nil, l.DoAll(ctx, names, nil)
		}},
		"lost under Do": {redlock.ErrLost, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			return nil, l.DoAll(ctx, names, func(ctx context.Context) error {
				w.foreign(names[5], time.Minute)
				<-ctx.Done()
				short(t, "the cause", context.Cause(ctx).Error())
				return context.Cause(ctx)
			})
		}},
		"extended after a loss": {redlock.ErrLost, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			lk := take(l, redlock.WithoutKeepalive())
			synctest.Wait()
			w.foreign(names[5], time.Minute)
			return lk, lk.Extend(ctx)
		}},
		"lost at its deadline": {redlock.ErrLost, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			lk := take(l, redlock.WithoutKeepalive())
			time.Sleep(ttl)
			return lk, lk.Unlock(ctx)
		}},
		"held for its maximum": {redlock.ErrLost, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			lk := take(l, redlock.WithMaxHold(20*time.Second))
			time.Sleep(time.Minute)
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
		"not released": {redlock.ErrNoQuorum, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			lk := take(l)
			synctest.Wait()
			cut(w)
			return lk, lk.Unlock(ctx)
		}},
		"released with one gone": {redlock.ErrLost, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			lk := take(l)
			synctest.Wait()
			w.foreign(names[5], time.Minute)
			return lk, lk.Unlock(ctx)
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
		"extended, released": {redlock.ErrReleased, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			lk := take(l)
			unlock(t, lk)
			return lk, lk.Extend(ctx)
		}},
		"closed": {redlock.ErrClosed, func(t *testing.T, w *world, l *redlock.Locker) (*redlock.Lock, error) {
			lk := take(l)
			require.NoError(t, l.Close())
			_, err := l.LockAll(ctx, names)
			short(t, "lock", err.Error())
			short(t, "extend", lk.Extend(ctx).Error())
			return lk, lk.Unlock(ctx)
		}},
	} {
		subWorld(t, what, 5, func(t *testing.T, w *world) {
			var logs, traced spoken
			trace := &redlock.Trace{
				Waiting:    func(_ context.Context, e redlock.WaitingEvent) { traced.add(e.Err) },
				AcquireEnd: func(_ context.Context, e redlock.AcquireEndEvent) { traced.add(e.Err) },
				Extended:   func(_ context.Context, e redlock.ExtendedEvent) { traced.add(e.Err) },
				HoldEnd:    func(_ context.Context, e redlock.HoldEndEvent) { traced.add(e.Err) },
				Unlocked:   func(_ context.Context, e redlock.UnlockedEvent) { traced.add(e.Err) },
			}
			var log logbook
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
				logs = append(logs, line)
			}
			for _, text := range append(logs, traced...) {
				assert.Less(t, len(text), 2000, "%.300s", text)
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

// spoken are those of errors that a trace was given.
type spoken []string

var spokenMu sync.Mutex

func (s *spoken) add(err error) {
	if err != nil {
		spokenMu.Lock()
		defer spokenMu.Unlock()
		*s = append(*s, err.Error())
	}
}
