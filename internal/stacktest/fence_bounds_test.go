package stacktest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
)

const largest = 1<<53 - 1 // the largest fencing token

func TestAClockThatIsWrongByCenturiesGivesNoFencingToken(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		ahead time.Duration
		year  string
	}{
		"past the year 2255": {290 * 365 * 24 * time.Hour, "2289"},
		"before 1970":        {-31 * 365 * 24 * time.Hour, "1969"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				l, sound := w.locker(t, "a", redlock.WithFencing()), w.locker(t, "b", redlock.WithFencing())
				before := fenced(t, sound, "x")
				unlock(t, before)
				synctest.Wait() // the third master has answered, too
				w.Host("a").Clock().SetAhead(at.ahead)
				w.forget()
				plain := w.locker(t, "a")
				for what, acquire := range ways {
					for _, err := range []error{
						acquire(within(t, time.Minute), l, "x", func(*redlock.Lock) {}),
						acquire(within(t, time.Minute), plain, "x", func(*redlock.Lock) {}, redlock.WithFencing()),
					} {
						require.ErrorContains(t, err, "clock", what)
						require.ErrorContains(t, err, at.year, what)
						require.ErrorContains(t, err, "2255", what)
					}
				}
				assert.Empty(t, w.asked(), "nothing was sent")
				assert.Greater(t, fenced(t, sound, "x").Fence(), before.Fence(), "the tokens of the name continue to grow")
			})
		})
	}
	t.Run("without fencing it does not matter", func(t *testing.T) {
		t.Parallel()
		inWorld(t, 3, func(t *testing.T, w *world) {
			l := w.locker(t, "a")
			w.Host("a").Clock().SetAhead(290 * 365 * 24 * time.Hour)
			unlock(t, lock(t, l, "x"))
		})
	})
}

func TestALockSaysHowToRecoverAFenceAtItsLimitAndDoesNotWait(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithFencing())
		for _, m := range w.Masters() {
			count(m, "x", fmt.Sprint(int64(largest)))
		}
		for what, take := range map[string]func() (*redlock.Lock, error){
			"TryLock":   func() (*redlock.Lock, error) { return l.TryLock(t.Context(), "x") },
			"Lock":      func() (*redlock.Lock, error) { return l.Lock(within(t, time.Minute), "x") },
			"LockAll":   func() (*redlock.Lock, error) { return l.LockAll(within(t, time.Minute), []string{"x", "y"}) },
			"RLock":     func() (*redlock.Lock, error) { return l.RW("x").RLock(within(t, time.Minute)) },
			"RW.Lock":   func() (*redlock.Lock, error) { return l.RW("x").Lock(within(t, time.Minute)) },
			"Reentrant": func() (*redlock.Lock, error) { return l.Reentrant("x", "me").Lock(within(t, time.Minute)) },
		} {
			_, err := take()
			require.ErrorIs(t, err, redlock.ErrNoQuorum, what)
			require.NotErrorIs(t, err, context.DeadlineExceeded, what)
			require.ErrorContains(t, err, "delete the key on every master", what)
		}
		for _, m := range w.Masters() { // as the error says
			m.Redis().Del(kind.FenceKey("x"))
		}
		assert.NotZero(t, fenced(t, l, "x").Fence())
	})
}
