package clock

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// /proc/uptime shows CLOCK_BOOTTIME, in hundredths of a second.
func TestTheSystemReportsHowLongItWasSuspended(t *testing.T) {
	t.Parallel()
	first := Suspended(System)
	assert.GreaterOrEqual(t, first, time.Duration(0))
	text, err := os.ReadFile("/proc/uptime")
	require.NoError(t, err)
	uptime, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	require.NoError(t, err)
	assert.LessOrEqual(t, first.Seconds(), uptime+0.01, "at most the uptime of the machine")
	t.Logf("up for %v s, suspended for %v of them", uptime, first)
	for range 1000 {
		assert.Equal(t, first, Suspended(System), "the machine was not suspended during the test")
	}
}

// A difference of less than a millisecond is the time between two readings. The test is not parallel: it replaces what
// the others read.
func TestAReadingCountsFromAMillisecond(t *testing.T) {
	const ms = time.Millisecond
	real := suspended.Load()
	defer suspended.Store(real)
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
		suspended.Store(int64(tt.before))
		assert.Equal(t, tt.want, largest(tt.now), "%v after %v", tt.now, tt.before)
	}
}

func TestAReadingIsReusedWhileBothClocksAdvanceAlike(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		wall, monotonic time.Duration
		want            bool
	}{
		"the oldest reading that is reused":       {maxReuse, maxReuse, false},
		"the reading is too old":                  {maxReuse + 1, maxReuse + 1, true},
		"the clocks are read one after the other": {time.Second + granularity/2 - 1, time.Second, false},
		"the shortest suspension that counts":     {time.Second + granularity/2, time.Second, true},
		"a suspension of an hour":                 {time.Second + time.Hour, time.Second, true},
		"the wall clock was set back a little":    {time.Second - granularity/2, time.Second, true},
		"set back, perhaps after a suspension":    {time.Second - time.Minute, time.Second, true},
	} {
		assert.Equal(t, tt.want, mayHaveSlept(tt.wall, tt.monotonic), name)
	}
}

func TestSuspendedReadsTheClocksAtFirstAndAfterTheReadingIsTooOld(t *testing.T) {
	at := time.Now().Add(-maxReuse)
	for _, last := range []*beginning{nil, {at, at.UnixNano()}} {
		lastRead.Store(last)
		system{}.Suspended()
		require.NotNil(t, lastRead.Load())
		assert.NotSame(t, last, lastRead.Load())
	}
}

// The clocks are read until the readings are close together, at most five times.
func TestHowFarTheBootClockIsAhead(t *testing.T) {
	t.Parallel()
	near := []time.Duration{time.Second, time.Hour, time.Second + maxApart}
	far := []time.Duration{time.Second, time.Hour, time.Second + maxApart + 1}
	for _, tt := range []struct {
		name     string
		readings []time.Duration
		ok       bool
		taken    int
		ahead    time.Duration
	}{
		{"near", near, true, 3, time.Hour - time.Second - maxApart},
		{"near at the second time", append(far, near...), true, 6, time.Hour - time.Second - maxApart},
		{"never near", slices.Repeat(far, 9), true, 15, time.Hour - time.Second - maxApart - 1},
		{"no boot clock", near, false, 3, 0},
	} {
		taken := 0
		ahead := bootAhead(func(id uintptr) (time.Duration, bool) {
			reading := tt.readings[taken]
			assert.Equal(t, taken%3 == 1, id == clockBoottime, tt.name)
			taken++
			return reading, tt.ok
		})
		assert.Equal(t, tt.ahead, ahead, tt.name)
		assert.Equal(t, tt.taken, taken, tt.name)
	}
}

func TestAClockThatTheKernelDoesNotHave(t *testing.T) {
	t.Parallel()
	now, ok := read(clockBoottime)
	assert.True(t, ok)
	assert.Positive(t, now)
	_, ok = read(1000)
	assert.False(t, ok)
}
