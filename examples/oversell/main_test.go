package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// In virtual time all buyers have read before the first one has paid.
func TestWithoutALockMoreIsSoldThanThereIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sale(without)
		require.NoError(t, got.err)
		assert.Equal(t, buyers, got.sold, "everybody read a stock that was not empty yet")
		assert.Equal(t, stock-1, got.left, "and wrote the same")
	})
}

func TestTheStoryRuns(t *testing.T) {
	t.Setenv("REDLOCK_MASTERS", "")
	var out strings.Builder
	// The masters share a busy machine with other tests.
	require.NoError(t, run(t.Context(), &out, redlock.WithTTL(time.Minute), redlock.WithNodeTimeout(20*time.Second)))
	assert.Contains(t, out.String(), "with a lock:    10 sold, 0 left, 30 buyers were told that it is sold out\n")
}
