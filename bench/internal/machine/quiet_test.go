package machine

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestABusyMachineIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		load, steal float64
		want        string
	}{
		"nothing known":      {0, 0, "it was quiet"},
		"a little load":      {0.4, 0, "it was quiet"},
		"load":               {1.5, 0, "others were at work"},
		"stolen time":        {0, 0.05, "others were at work"},
		"more than there is": {5, 0, "others were hard at work"},
		"much stolen":        {0, 0.3, "others were hard at work"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Contains(t, Assess(c.load, 2, c.steal), c.want)
		})
	}
}

func TestStealIsAShareOfAllTime(t *testing.T) {
	t.Parallel()
	before := parseTimes("cpu  100 0 100 700 0 0 0 100 50 0\ncpu0 9 9 9\n")
	assert.Equal(t, Times{all: 1000, steal: 100}, before)
	after := parseTimes("cpu  150 0 100 750 0 0 0 200 90 0\n")
	assert.InDelta(t, 0.5, after.StealSince(before), 1e-9)
	assert.Zero(t, before.StealSince(before))
	assert.Zero(t, parseTimes("").StealSince(Times{}))
}
