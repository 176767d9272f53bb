package clients_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/redlocktest"
)

// A holder whose clock runs at half its speed believes twice as long as the masters, and the history says so in the
// time of everybody: exclusion breaks.
func TestAWrongClockShowsInTheHistory(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rate   float64
		lasts  float64 // how many TTLs a belief lasts
		breaks bool
	}{
		"right": {0, 0.98, false},
		"slow":  {0.5, 1.96, true},
		"fast":  {2, 0.49, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			masters := redlocktest.Start(t, 3)
			f, log := newFleet(t, 2, traffic.Config{
				Lock: traffic.Quorum, URLs: redlocktest.URLs(masters), ClockRate: tt.rate,
				Groups: []traffic.Group{{
					Names: []string{"over"}, TTL: traffic.ShortTTL, Careless: true,
					Hold: traffic.Hold{Usual: traffic.Span{Least: 8 * traffic.ShortTTL / 5}},
				}},
			})
			require.NoError(t, f.StartAll(t.Context()))
			held := func(e history.Event) bool { return e.Kind == history.Acquired }
			require.Eventually(t, func() bool { return has(read(t, f), held) >= 5 }, 2*soon, 10*look)
			require.NoError(t, quit(t, f))
			assert.Empty(t, log.all())
			events := read(t, f)
			longest := 0.0 // on a busy machine some last less, as what the asking took is off already
			for _, e := range events {
				if held(e) {
					longest = max(longest, float64(e.Until-e.T)/float64(e.TTL))
				}
			}
			assert.InDelta(t, tt.lasts, longest, 0.1*max(tt.lasts, 1))
			assert.Equal(t, !tt.breaks, check.Exclusion(events).Held())
		})
	}
}
