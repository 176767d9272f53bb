package waitqueue

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestShare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		width, others int
		waits         bool
		share         int
	}{
		{1, 0, true, 1},
		{1, 0, false, 1},
		{1, 1, true, 0},
		{1, 7, true, 0},
		{8, 0, true, 8},
		{8, 1, true, 4},
		{8, 3, true, 2},
		{8, 4, true, 1},
		{8, 7, true, 1},
		{8, 8, true, 0},
		{3, 1, true, 1},
		{3, 1, false, 0},
		{8, 1, false, 0},
		{8, 0, false, 8},
		{Unbounded, 0, false, Unbounded},
		{Unbounded, 9, true, Unbounded},
		{Unbounded, 9, false, Unbounded},
	} {
		assert.Equal(t, tt.share, share(tt.width, tt.others, tt.waits), "%+v", tt)
	}
}

func TestRounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ width, others, rounds int }{
		{1, 0, 1}, {1, 1, 1}, {1, 7, 7}, {2, 1, 1}, {2, 2, 1}, {2, 3, 2}, {8, 3, 1}, {8, 8, 1}, {8, 9, 2}, {Unbounded, 9, 1},
	} {
		assert.Equal(t, tt.rounds, rounds(tt.width, tt.others), "%+v", tt)
	}
}

// A count of subscribers begins a cooldown only if it shows other processes.
func TestACountWithoutOthersBeginsNoCooldown(t *testing.T) {
	t.Parallel()
	q := &queue{all: New(Config{}), width: 1, holds: 1}
	q.published(&Hold{}, 0, start)
	assert.Equal(t, cooldown{}, q.cooldown)
	q.published(&Hold{}, 1, start)
	assert.Equal(t, cooldown{others: 1, until: start.Add(minCooldown)}, q.cooldown)
}
