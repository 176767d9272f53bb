package machine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestABusyMachineIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		around []Conditions
		want   string
	}{
		"nothing known":       {[]Conditions{{}}, "it was quiet"},
		"a little load":       {[]Conditions{{Load: 0.4, Wobble: 1.05}}, "it was quiet"},
		"load":                {[]Conditions{{Load: 1.5}}, "others were at work"},
		"stolen time":         {[]Conditions{{Steal: 0.05}}, "others were at work"},
		"uneven work":         {[]Conditions{{Wobble: 1.5}}, "others were at work"},
		"only at the end":     {[]Conditions{{}, {Wobble: 1.5}}, "others were at work"},
		"more than there is":  {[]Conditions{{Load: 5}}, "others were hard at work"},
		"much stolen":         {[]Conditions{{Steal: 0.3}}, "others were hard at work"},
		"work that stands by": {[]Conditions{{Wobble: 4}}, "others were hard at work"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Contains(t, Assess(2, c.around...), c.want)
		})
	}
}

func TestStealIsAShareOfAllTime(t *testing.T) {
	t.Parallel()
	before := parseCPUTimes("cpu  100 0 100 700 0 0 0 100 50 0\ncpu0 9 9 9\n")
	assert.Equal(t, cpuTimes{all: 1000, steal: 100}, before)
	after := parseCPUTimes("cpu  150 0 100 750 0 0 0 200 90 0\n")
	assert.InDelta(t, 0.5, after.stealSince(before), 1e-9)
	assert.Zero(t, before.stealSince(before))
	assert.Zero(t, parseCPUTimes("").stealSince(cpuTimes{}))
}

func TestWobbleComparesTheSlowWithTheFast(t *testing.T) {
	t.Parallel()
	var pieces []time.Duration
	for i := range 100 {
		d := time.Millisecond
		if i%5 == 0 {
			d *= 3
		}
		pieces = append(pieces, d)
	}
	assert.InDelta(t, 3, wobble(pieces), 1e-9)
	assert.Zero(t, wobble(pieces[1:5:5]), "too few to tell")
	assert.Positive(t, calibrate(t.Context(), 300*time.Millisecond))
}
