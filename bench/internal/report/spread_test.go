package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []float64
		want   spread
	}{
		"of one value is that value":               {[]float64{3}, spread{3, 3, 3}},
		"of an odd number has one in the middle":   {[]float64{9, 1, 4}, spread{4, 1, 9}},
		"of an even number halves the middle two":  {[]float64{10, 1, 4, 2}, spread{3, 1, 10}},
		"is not moved by an outlier in the median": {[]float64{5, 5, 5, 5, 5000}, spread{5, 5, 5000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := append([]float64(nil), c.values...)
			assert.Equal(t, c.want, spreadOf(c.values))
			assert.Equal(t, given, c.values, "the rounds stay in their order")
		})
	}
}

func TestRatioIsTakenRoundByRound(t *testing.T) {
	t.Parallel()
	// A machine that is slow in the last two rounds slows both; the ratio of the medians would be 100/60.
	over, under := []float64{20, 100, 400}, []float64{10, 60, 200}
	assert.Equal(t, spread{Median: 2, Low: 100. / 60, High: 2}, ratioOf(over, under))
}
