package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPacingHasAGapForADistantMasterOnly(t *testing.T) {
	t.Parallel()
	for rtt, want := range map[time.Duration]time.Duration{
		0:                      0,
		200 * time.Microsecond: 0,
		8*time.Millisecond - 1: 0,
		8 * time.Millisecond:   time.Millisecond,
		80 * time.Millisecond:  10 * time.Millisecond,
	} {
		w := pacing{lastSent: at(1)}
		if rtt > 0 {
			w.rtt.measure(rtt, epoch)
		}
		assert.Equal(t, want, w.gap(), rtt.String())
		assert.Equal(t, at(1).Add(want), w.nextAt())
	}
}

func TestPacingStallsAfterTwoSilentRoundTrips(t *testing.T) {
	t.Parallel()
	var w pacing
	w.rtt.measure(time.Second, epoch)
	assert.False(t, w.stalled(at(10), at(12)))
	assert.True(t, w.stalled(at(10), at(12).Add(1)))
}

func TestWhenTheDriverYields(t *testing.T) {
	t.Parallel()
	y := yield{batch: 1}
	assert.False(t, y.before(at(1)), "a lone caller")
	now := at(2)
	batchesWithout := func(took time.Duration) (n int) {
		require.True(t, y.before(now))
		now = now.Add(took)
		require.False(t, y.before(now), "after the yield")
		for probe := y; !probe.before(now); n++ {
			y = probe
		}
		return n
	}
	y.batch = 2
	assert.Equal(t, 0, batchesWithout(longYield-1))
	for _, want := range []int{15, 255, 1023, 1023} {
		assert.Equal(t, want, batchesWithout(longYield))
	}
	for _, want := range []int{511, 255, 127} {
		assert.Equal(t, want, batchesWithout(longYield-1))
	}
	assert.Equal(t, 1023, batchesWithout(longYield), "it is still remembered")
}

func TestMinRTTForgetsAfterAWhile(t *testing.T) {
	t.Parallel()
	var m minRTT
	for _, step := range []struct {
		seconds float64
		rtt     time.Duration
		want    time.Duration
		why     string
	}{
		{0, 50, 50, "the first"},
		{1, 80, 50, "a longer one includes waiting"},
		{2, 40, 40, "a shorter one counts at once"},
		{11, 90, 40, "of the period before"},
		{20, 70, 40, "of the period before"},
		{21, 90, 70, "the period before has 70"},
		{60, 95, 95, "all others are too old"},
	} {
		m.measure(step.rtt*time.Millisecond, at(step.seconds))
		assert.Equal(t, step.want*time.Millisecond, m.shortest, "at %v: %s", step.seconds, step.why)
	}
}
