package clock

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAReadingIsReusedWhileBothClocksAdvanceAlike(t *testing.T) {
	t.Parallel()
	const short = 10 * time.Millisecond
	assert.False(t, mayHaveSlept(short, short), "no suspension")
	assert.False(t, mayHaveSlept(short+granularity/4, short), "the clocks are read one after the other")
	assert.True(t, mayHaveSlept(short+granularity, short), "a suspension of a millisecond")
	assert.True(t, mayHaveSlept(short+time.Hour, short), "a suspension of an hour")
	assert.True(t, mayHaveSlept(short-time.Minute, short), "the wall clock was set back, perhaps after a suspension")
	assert.True(t, mayHaveSlept(maxReuse+1, maxReuse+1), "the reading is too old")
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
