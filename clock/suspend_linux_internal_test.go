package clock

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

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

func TestSuspendedReadsTheClocksAgainAfterTheReadingIsTooOld(t *testing.T) {
	at := time.Now().Add(-maxReuse)
	old := &beginning{at, at.UnixNano()}
	lastRead.Store(old)
	system{}.Suspended()
	assert.NotSame(t, old, lastRead.Load())
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
