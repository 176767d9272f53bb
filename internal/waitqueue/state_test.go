package waitqueue

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every pair of state and event is either in the table below, with what follows, or panics.
func TestEveryTransition(t *testing.T) {
	t.Parallel()
	possible := map[state]map[event]state{
		outside:  {call: waiting, fail: gone},
		waiting:  {turn: asking, yield: yielding, watch: probing, give: given, fail: gone, leave: gone},
		yielding: {due: asking, give: given, leave: gone},
		asking:   {denied: waiting, take: gone, leave: gone},
		probing:  {pause: pausing, leave: gone},
		pausing:  {due: asking, give: given, leave: gone},
		given:    {take: gone, leave: gone},
		gone:     {leave: gone},
	}
	for s := range states {
		for e := range events {
			want, ok := possible[s][e]
			if !ok {
				assert.Panics(t, func() { s.after(e) }, "%v in %v", e, s)
				continue
			}
			assert.Equal(t, want, s.after(e), "%v in %v", e, s)
		}
	}
	assert.PanicsWithValue(t, "waitqueue: event take in state waiting", func() { waiting.after(take) })
}

// Only a caller that asks, or was given a lease, can take the lock; and nothing brings back a caller that is gone.
func TestHowACallerEnds(t *testing.T) {
	t.Parallel()
	for s := range states {
		for e := range events {
			if e == take {
				assert.Equal(t, s == asking || s == given, transitions[s][e] == gone, "%v in %v", e, s)
			}
		}
		if s != outside {
			assert.Equal(t, gone, transitions[s][leave], "%v", s)
		}
	}
	for e := range events {
		assert.Contains(t, []state{outside, gone}, transitions[gone][e], "%v", e)
	}
}
