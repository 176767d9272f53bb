package clock

import (
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
	old := time.Now().Add(-maxReuse)
	readAt.Store(&old)
	system{}.Suspended()
	assert.NotSame(t, &old, readAt.Load())
}
