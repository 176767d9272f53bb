package integration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/redisbox"
)

// The process ends after Unlock, and two masters were frozen during it. Nobody gets the name before the minimum hold is
// over, and no master keeps it for longer.
func TestAMinHoldOutlivesItsProcessAndFrozenMasters(t *testing.T) {
	masters := masters(t)
	const d = largest // so that Unlock and Close, which wait for the frozen ones, return well before it is over
	ours := open(t, masters, redlock.WithNodeTimeout(nodeTimeout/2))
	others := open(t, masters, redlock.WithRetry(10*time.Millisecond, 50*time.Millisecond))
	warm := lock(t, ours, "warm", redlock.WithMinHold(100*time.Millisecond))
	unlock(t, warm)
	requireEmpty(t, patience, masters...)

	job := lock(t, ours, "nightly", redlock.WithMinHold(d))
	acquired := time.Now()
	for _, m := range masters {
		requireValue(t, settled, m, "nightly", job.Token())
	}
	all(t, (*redisbox.Master).Freeze, masters[:2]...)
	unlock(t, job)
	require.NoError(t, ours.Close())
	_, err := others.TryLock(within(t, patience), "nightly")
	require.ErrorIs(t, err, redlock.ErrHeld)
	for _, m := range masters[2:] {
		assert.True(t, strings.HasPrefix(value(m, "nightly"), "min-hold:"), value(m, "nightly"))
	}
	all(t, (*redisbox.Master).Thaw, masters[:2]...)

	next, err := others.Lock(within(t, patience), "nightly")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(acquired), d-100*time.Millisecond, "measured by another clock, and from later")
	unlock(t, next)
	left := time.Until(acquired.Add(d + nodeTimeout))
	requireEmpty(t, max(left, settled), masters...)
}
