package waitqueue

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every pair of state and event is either in the table below, with what follows, or panics.
func TestEveryTransition(t *testing.T) {
	t.Parallel()
	possible := map[state]map[event]state{
		outside:  {call: waiting, refuse: gone},
		waiting:  {ask: asking, yield: yielding, watch: probing, give: given, refuse: gone, leave: gone},
		yielding: {ask: asking, give: given, leave: gone},
		asking:   {failed: waiting, take: gone, leave: gone},
		probing:  {pause: pausing, leave: gone},
		pausing:  {ask: asking, give: given, leave: gone},
		given:    {take: gone, leave: gone},
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
