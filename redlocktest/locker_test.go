package redlocktest_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestTheMaxTTLOfALocker(t *testing.T) {
	t.Parallel()
	type testCase struct {
		opts []redlock.Option
		most time.Duration
	}
	testmain.Each(t, map[string]testCase{
		"default":              {nil, time.Minute},
		"a shorter TTL":        {[]redlock.Option{redlock.WithTTL(2 * time.Second)}, time.Minute},
		"a longer TTL":         {[]redlock.Option{redlock.WithTTL(time.Hour)}, time.Hour},
		"a longer min hold":    {[]redlock.Option{redlock.WithMinHold(time.Hour)}, time.Hour},
		"a max TTL of its own": {[]redlock.Option{redlock.WithMaxTTL(20 * time.Second)}, 20 * time.Second},
	}, func(t *testing.T, tt testCase) {
		synctest.Test(t, func(t *testing.T) {
			locker, masters := redlocktest.StartLocker(t, 1, tt.opts...)
			for name, o := range map[string]func(time.Duration) redlock.LockOption{
				"ttl": redlock.WithTTL, "min hold": redlock.WithMinHold,
			} {
				lock, err := locker.TryLock(t.Context(), name, o(tt.most))
				require.NoError(t, err)
				require.NoError(t, lock.Unlock(t.Context()))
				_, err = locker.TryLock(t.Context(), name, o(tt.most+time.Millisecond))
				require.ErrorContains(t, err, "max TTL of "+tt.most.String())
			}
			masters[0].Stop()
			masters[0].Start()
			began := time.Now()
			require.NoError(t, locker.Do(t.Context(), "restarted", nothing))
			assert.InDelta(t, tt.most+tt.most/100, time.Since(began), float64(3*time.Second))
		})
	})
}

func TestALockerEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var locker *redlock.Locker
	var lock *redlock.Lock
	t.Run("inner", func(t *testing.T) {
		locker = redlocktest.NewLocker(t, 3)
		var err error
		lock, err = locker.Lock(t.Context(), "left locked")
		require.NoError(t, err)
	})
	require.ErrorIs(t, lock.Err(), redlock.ErrClosed)
	_, err := locker.TryLock(t.Context(), "name")
	require.ErrorIs(t, err, redlock.ErrClosed)
}

const look = 10 * time.Millisecond

// votes is on how many masters the name is held.
func votes(t *testing.T, locker *redlock.Locker) int {
	t.Helper()
	holding, err := locker.Inspect(t.Context(), "name")
	require.NoError(t, err)
	if len(holding.Holders) == 0 {
		return 0
	}
	return holding.Holders[0].Votes
}

func nothing(context.Context) error { return nil }

func open(t *testing.T, masters []*redlocktest.Master, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	locker, err := redlock.Open(redlocktest.URLs(masters), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locker.Close()) })
	return locker
}

func TestATTLEndsInVirtualTime(t *testing.T) {
	t.Parallel()
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		masters := redlocktest.StartVirtual(t, 5)
		one, another := open(t, masters), open(t, masters)
		_, err := one.Lock(t.Context(), "name", redlock.WithoutKeepalive(), redlock.WithTTL(time.Hour))
		require.ErrorContains(t, err, "max TTL")
		lock, err := one.Lock(t.Context(), "name", redlock.WithoutKeepalive())
		require.NoError(t, err)
		require.Equal(t, began, time.Now(), "nothing makes it wait: the masters may vote at once")
		next, err := another.Lock(t.Context(), "name")
		require.NoError(t, err)
		assert.WithinDuration(t, began.Add(10*time.Second), time.Now(), time.Second)
		require.ErrorIs(t, lock.Err(), redlock.ErrLost)

		time.Sleep(time.Hour)
		require.NoError(t, next.Err(), "kept alive for an hour")
		require.NoError(t, next.Unlock(t.Context()))
	})
	assert.Less(t, time.Since(began), 10*time.Minute)
}

func TestBubblesAtOnceHaveMastersOfTheirOwn(t *testing.T) {
	t.Parallel()
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				locker := open(t, redlocktest.StartVirtual(t, 3))
				for range 20 {
					lock, err := locker.TryLock(t.Context(), "name")
					require.NoError(t, err)
					time.Sleep(time.Second)
					require.NoError(t, lock.Unlock(t.Context()))
				}
			})
		})
	}
}

// The bubble panics as well, as goroutines of the Locker are left: only a process of its own shows that.
func TestALockerLeftOpenInABubbleIsNamed(t *testing.T) {
	t.Parallel()
	const inner = "REDLOCKTEST_LEAVE_OPEN"
	if os.Getenv(inner) != "" {
		synctest.Test(t, func(t *testing.T) {
			locker, err := redlock.Open(redlocktest.URLs(redlocktest.StartVirtual(t, 3)))
			require.NoError(t, err)
			_, err = locker.Lock(context.Background(), "name")
			require.NoError(t, err)
		})
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=30s")
	cmd.Env = append(os.Environ(), inner+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	assert.Contains(t, string(out), "close every Locker before its bubble ends")
}
