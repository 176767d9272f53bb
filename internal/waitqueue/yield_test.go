package waitqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestShare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		width, others int
		waits         bool
		share         int // no more is in the share
	}{
		{1, 0, true, Unbounded},
		{1, 0, false, Unbounded},
		{1, 1, true, 0},
		{1, 7, true, 0},
		{8, 0, true, Unbounded},
		{8, 1, true, 4},
		{8, 3, true, 2},
		{8, 4, true, 1},
		{8, 7, true, 1},
		{8, 8, true, 0},
		{3, 1, true, 1},
		{3, 1, false, 0},
		{8, 1, false, 0},
		{8, 0, false, Unbounded},
		{Unbounded, 0, false, Unbounded},
		{Unbounded, 9, true, Unbounded},
		{Unbounded, 9, false, Unbounded},
	} {
		q := &queue{width: tt.width, cooldown: cooldown{others: tt.others}}
		if tt.waits {
			q.subscription = silent{}
		}
		for _, holds := range []int{1, 2, 3, 4, 5, 8, 9, Unbounded} {
			assert.Equal(t, holds <= tt.share, q.inShare(holds), "%d holds, %+v", holds, tt)
		}
	}
}

func TestRounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ width, others, rounds int }{
		{1, 0, 1}, {1, 1, 1}, {1, 7, 7}, {2, 1, 1}, {2, 2, 1}, {2, 3, 2}, {8, 3, 1}, {8, 8, 1}, {8, 9, 2}, {Unbounded, 9, 1},
	} {
		q := &queue{width: tt.width, cooldown: cooldown{others: tt.others}}
		q.beginCooldown(aged(10*time.Millisecond, 0, 0), start, start)
		assert.Equal(t, time.Duration(tt.rounds)*10*time.Millisecond, q.cooldown.until.Sub(start), "%+v", tt)
	}
}

// A count of subscribers begins a cooldown only if it shows other processes.
func TestACountWithoutOthersBeginsNoCooldown(t *testing.T) {
	t.Parallel()
	q := &queue{all: New(Config{}), width: 1, holds: 1}
	h := &Hold{queue: q}
	h.Published(0, start)
	assert.Equal(t, cooldown{}, q.cooldown)
	h.Published(1, start)
	assert.Equal(t, cooldown{others: 1, until: start.Add(minCooldown)}, q.cooldown)
	q.subscription = silent{} // which the masters do not count yet
	h.Published(0, start)
	assert.Zero(t, q.cooldown.others)
}
