package clock_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
)

// /proc/uptime shows CLOCK_BOOTTIME, in hundredths of a second.
func TestTheSystemReportsHowLongItWasSuspended(t *testing.T) {
	t.Parallel()
	first := clock.Suspended(clock.System)
	assert.GreaterOrEqual(t, first, time.Duration(0))
	text, err := os.ReadFile("/proc/uptime")
	require.NoError(t, err)
	uptime, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	require.NoError(t, err)
	assert.LessOrEqual(t, first.Seconds(), uptime+0.01, "at most the uptime of the machine")
	t.Logf("up for %v s, suspended for %v of them", uptime, first)
	for range 1000 {
		assert.Equal(t, first, clock.Suspended(clock.System), "the machine was not suspended during the test")
	}
}

// A difference of less than a millisecond is the time between two readings. The test is not parallel: it replaces what
// the others read.
func TestAReadingCountsFromAMillisecond(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct{ before, now, want time.Duration }{
		{0, 0, 0},
		{0, ms - 1, 0},
		{0, ms, ms},
		{0, time.Hour, time.Hour},
		{ms, ms / 2, ms},
		{ms, 2*ms - 1, ms},
		{ms, 2 * ms, 2 * ms},
		{time.Hour, time.Minute, time.Hour},
	} {
		assert.Equal(t, tt.want, clock.Largest(tt.before, tt.now), "%v after %v", tt.now, tt.before)
	}
}

func TestTheFirstReadingIsTaken(t *testing.T) {
	clock.ForgetReading()
	first := clock.Suspended(clock.System)
	assert.Equal(t, first, clock.Suspended(clock.System))
}
