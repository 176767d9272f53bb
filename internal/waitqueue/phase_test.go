package waitqueue

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every pair of phase and event is either in the table below, with what follows if waiters remain, or panics.
func TestEveryTransition(t *testing.T) {
	t.Parallel()
	legal := map[phase]map[event]phase{
		idle: {joined: asking},
		asking: {
			joined: asking, left: asking, headLeft: asking, failed: denied, granted: held, grantedAside: overlapping,
		},
		denied: {
			joined: denied, left: denied, headLeft: asking, failed: denied, granted: held, grantedAside: overlapping,
		},
		held:    {joined: held, left: held, grantedAside: held, lost: ending, passed: passing, released: asking},
		ending:  {joined: ending, left: ending, grantedAside: held, lost: ending, released: asking},
		passing: {joined: passing, left: passing, headLeft: held, granted: held},
		overlapping: {
			joined: overlapping, left: overlapping, headLeft: held, failed: overlapping, granted: held,
			grantedAside: overlapping, lost: overlapping, released: asking,
		},
	}
	for p := range phases {
		for e := range events {
			want, ok := legal[p][e]
			if !ok {
				assert.Panics(t, func() { transition(p, e, true) }, "%v in %v", e, p)
				assert.Panics(t, func() { transition(p, e, false) }, "%v in %v", e, p)
				continue
			}
			assert.Equal(t, want, transition(p, e, true), "%v in %v", e, p)
			if want == asking {
				want = idle // without waiters there is no head to ask
			}
			assert.Equal(t, want, transition(p, e, false), "%v in %v, and no waiter remains", e, p)
		}
	}
	assert.PanicsWithValue(t, "waitqueue: event released in phase idle", func() { transition(idle, released, true) })
}

// A phase that is held stays so until the last release, and passes through no phase in which a waiter asks.
func TestOnlyAReleaseEndsAHeldPhase(t *testing.T) {
	t.Parallel()
	holding := map[phase]bool{held: true, ending: true, passing: true, overlapping: true}
	for p := range phases {
		for e := range events {
			next := transitions[p][e]
			switch {
			case next == illegal:
			case holding[p]:
				assert.Equal(t, e != released, holding[next], "%v in %v", e, p)
			default:
				assert.Equal(t, e == granted || e == grantedAside, holding[next], "%v in %v", e, p)
			}
		}
	}
}
