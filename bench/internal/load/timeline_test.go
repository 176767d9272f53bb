package load

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestATimelineSortsPairsByTheirBeginning(t *testing.T) {
	t.Parallel()
	base := time.Now()
	line := &Timeline{Base: base}
	at := func(begun, took time.Duration, err error) { line.Note(base.Add(begun), base.Add(begun+took), err) }
	at(-ms, ms, nil) // before it began
	for i := range 100 {
		at(time.Duration(i)*ms, 2*ms, nil)
	}
	at(50*ms, 900*ms, nil) // long, and of the first tenth
	at(250*ms, 5*ms, errors.New("refused"))
	at(2*time.Second, ms, nil) // after its end

	all := line.Moments(400 * ms)
	assert.Len(t, all, 4)
	assert.Equal(t, 101, all[0].Pairs)
	assert.InDelta(t, 2000, all[0].P50, 1)
	assert.InDelta(t, 2000, all[0].P99, 1)
	assert.InDelta(t, 900_000, all[0].Max, 1)
	assert.Zero(t, all[1].Pairs, "no pair began")
	assert.Equal(t, 1, all[2].Failed)

	took, failed := line.Between(0, 100*ms)
	assert.Len(t, took, 101)
	assert.Zero(t, failed)
	took, failed = line.Between(200*ms, 300*ms)
	assert.Empty(t, took, "what failed has no latency")
	assert.Equal(t, int64(1), failed)
}

func TestPercentilesOfKnownValues(t *testing.T) {
	t.Parallel()
	var values []uint32
	for i := range 1000 {
		values = append(values, uint32(1000-i))
	}
	p50, p99, largest := PercentilesOf(values)
	assert.InDelta(t, 501, p50, 1)
	assert.InDelta(t, 991, p99, 1)
	assert.InDelta(t, 1000, largest, 0)
	p50, _, largest = PercentilesOf([]uint32{7})
	assert.Equal(t, []float64{7, 7}, []float64{p50, largest})
}

func TestADistributionGrowsToAll(t *testing.T) {
	t.Parallel()
	h := NewHistogram()
	assert.Empty(t, Distribution(h))
	for i := range 1000 {
		Record(h, time.Duration(i+1)*ms)
	}
	all := Distribution(h)
	for i := 1; i < len(all); i++ {
		assert.Greater(t, all[i].Share, all[i-1].Share)
		assert.GreaterOrEqual(t, all[i].Micros, all[i-1].Micros)
	}
	assert.InDelta(t, 1e6, all[len(all)-1].Micros, 1000)
	assert.InDelta(t, 1, all[len(all)-1].Share, 0)
}
