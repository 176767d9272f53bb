package fencing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/examples/fencing"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// paused are the fencing tokens of two holders of one lock. The early one was paused until its lock had expired and was
// the late one's; it does not know yet, and continues.
func paused(t *testing.T) (early, late uint64) {
	t.Helper()
	urls := redlocktest.URLs(redlocktest.Start(t, 5))
	process := func() *redlock.Locker {
		locker, err := redlock.Open(urls, redlock.WithFencing(), redlock.WithTTL(200*time.Millisecond))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, locker.Close()) })
		return locker
	}
	one, two := process(), process()

	first, err := one.Lock(t.Context(), "nightly-report", redlock.WithoutKeepalive())
	require.NoError(t, err)
	second, err := two.Lock(t.Context(), "nightly-report") // has to wait for the TTL
	require.NoError(t, err)
	require.ErrorIs(t, first.Err(), redlock.ErrLost)
	require.Greater(t, second.Fence(), first.Fence())
	return first.Fence(), second.Fence()
}

// refusesLateWrites checks that a store refuses a write of the early holder after one of the late holder, which may
// write twice.
func refusesLateWrites(t *testing.T, save func(fence uint64, text string) error, current func() string) {
	t.Helper()
	early, late := paused(t)
	require.NoError(t, save(early, "begun"))
	assert.Equal(t, "begun", current())
	require.NoError(t, save(late, "the second holder's"))
	require.ErrorIs(t, save(early, "the first holder's"), fencing.ErrStale)
	assert.Equal(t, "the second holder's", current())
	require.NoError(t, save(late, "the second holder's, again"))
	assert.Equal(t, "the second holder's, again", current())
}
