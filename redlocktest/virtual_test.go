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
	"github.com/redlock-go/redlock/redlocktest"
)

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
