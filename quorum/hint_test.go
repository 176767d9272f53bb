package quorum_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// hinting records the times that become hints.
type hinting struct {
	ops
	hints *[]time.Time
}

func (h hinting) Acquire(t *quorum.Terms, asked time.Time) *wire.Op {
	*h.hints = append(*h.hints, asked)
	return h.ops.Acquire(t, asked)
}

// TestAFencedAcquireIsNotOlderThanThreeTimeouts has the votes arrive late, as in a process that was paused after its
// requests were sent.
func TestAFencedAcquireIsNotOlderThanThreeTimeouts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		fencing       bool
		after, asleep time.Duration
		want          error
	}{
		{"in time", true, 3 * terms.Timeout, 0, nil},
		{"too late", true, 3*terms.Timeout + 1, 0, quorum.ErrNoQuorum},
		{"the machine slept", true, terms.Timeout, 2*terms.Timeout + 1, quorum.ErrNoQuorum},
		{"too late, without fencing", false, 3*terms.Timeout + 1, 0, nil},
	} {
		subSleeper(t, tt.name, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
			terms := terms
			terms.Fencing = tt.fencing
			var hints []time.Time
			out := make(chan outcome, 1)
			start := time.Now()
			go func() {
				lease, err := q.Acquire(t.Context(), hinting{hints: &hints}, &terms, quorum.NoFirst, new(quorum.PermanentFailures))
				out <- outcome{lease, err}
			}()
			time.Sleep(tt.after)
			s.sleep(tt.asleep)
			for _, f := range fakes {
				f.vote(t, "acquire", &wire.Vote{Verdict: wire.Granted, Number: 7})
			}
			got := <-out
			if tt.fencing {
				require.Equal(t, []time.Time{start}, hints, "the start of the stopwatch on the wall clock")
			}
			require.ErrorIs(t, got.err, tt.want)
			if tt.want != nil {
				assert.ErrorContains(t, got.err, "too late for a fencing token")
				for _, f := range fakes {
					assert.Len(t, f.asked("release"), 1)
				}
			}
		})
	}
}
