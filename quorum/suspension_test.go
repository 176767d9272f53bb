package quorum_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// sleeper is a clock of a machine that was suspended for as long as a test says.
type sleeper struct {
	clock.Clock
	total atomic.Int64 // a time.Duration
}

func (s *sleeper) Suspended() time.Duration { return time.Duration(s.total.Load()) }

// sleep suspends the machine for d.
func (s *sleeper) sleep(d time.Duration) { s.total.Add(int64(d)) }

// until returns when a lease ends, on the clock that stands still during suspensions.
func (s *sleeper) until(l *quorum.Lease) time.Time {
	return clock.Outside(clock.CountSuspensions(s), l.Until())
}

// onSleeper is a parallel test in a bubble, with a quorum on a machine that was suspended for an hour before.
func onSleeper(t *testing.T, f func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sleeper{Clock: clock.System}
		s.sleep(time.Hour)
		q, fakes := council(t, 3, func(c *quorum.Config) { c.Clock = clock.CountSuspensions(s) })
		f(t, s, q, fakes)
	})
}

// subSleeper is onSleeper in a subtest.
func subSleeper(t *testing.T, name string, f func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { onSleeper(t, f) })
}

// validity is how long a lease lasts from its request.
var validity = terms.TTL - terms.Drift

func TestASuspensionDuringTheAcquireShortensTheLease(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		asleep  time.Duration
		pause   time.Duration // before the votes
		counted time.Duration
		err     error
	}{
		{"none", 0, 2 * time.Second, 0, nil},
		{"three seconds", 3 * time.Second, 2 * time.Second, 3 * time.Second, nil},
		{"just after the last reading", 3 * time.Second, time.Millisecond, 3 * time.Second, nil},
		{"longer than the validity", terms.TTL, 2 * time.Second, 0, quorum.ErrNoQuorum},
		{"longer, just after the last reading", terms.TTL, time.Millisecond, 0, quorum.ErrNoQuorum},
	} {
		subSleeper(t, tt.name, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
			asked := time.Now()
			out := acquire(t, q, quorum.NoFirst)
			s.sleep(tt.asleep)
			time.Sleep(tt.pause)
			fakes[0].vote(t, "acquire", granted())
			fakes[1].vote(t, "acquire", granted())
			got := decided(t, out)
			if tt.err != nil {
				require.ErrorIs(t, got.err, tt.err)
				return
			}
			require.NoError(t, got.err)
			assert.Equal(t, asked.Add(validity-tt.counted), s.until(got.lease))
		})
	}
}

func TestASuspensionDuringAnExtensionShortensIt(t *testing.T) {
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		time.Sleep(2 * time.Second)
		s.sleep(time.Second)
		asked := time.Now()
		result := extend(t, lease)
		s.sleep(3 * time.Second)
		fakes[0].vote(t, "extend", granted())
		fakes[1].vote(t, "extend", granted())
		require.NoError(t, result())
		assert.Equal(t, asked.Add(validity-3*time.Second), s.until(lease), "a suspension before the request does not count")
	})
}

func TestASuspensionEndsTheLeaseThatAnExtensionCannotSave(t *testing.T) {
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		result := extend(t, lease)
		s.sleep(terms.TTL)
		fakes[0].vote(t, "extend", granted())
		fakes[1].vote(t, "extend", granted())
		require.ErrorIs(t, result(), quorum.ErrEnded, "another holder may have had the lock")
	})
}

func TestAnExtensionOfAnEndedLeaseAsksNoNode(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*sleeper){
		"its deadline has passed": func(*sleeper) { time.Sleep(validity) },
		"the machine slept":       func(s *sleeper) { s.sleep(validity) },
	} {
		subSleeper(t, name, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
			lease := held(t, q, fakes)
			end(s)
			result := extend(t, lease)
			require.ErrorIs(t, result(), quorum.ErrEnded)
			assert.Empty(t, fakes[0].asked("extend"))
		})
	}
}

// A deadline that is final does not move either: the clock counts the suspension, not the deadline.
func TestASuspensionMovesTheDeadlineCloser(t *testing.T) {
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		constant, before := lease.Until(), s.until(lease)
		s.sleep(2 * time.Second)
		assert.Equal(t, before.Add(-2*time.Second), s.until(lease))
		assert.True(t, lease.FreezeIfDue(validity))
		s.sleep(2 * time.Second)
		assert.Equal(t, before.Add(-4*time.Second), s.until(lease))
		assert.Equal(t, constant, lease.Until())
	})
}

// An extension cannot make up for a suspension beyond the maximum hold.
func TestASuspensionMovesTheCap(t *testing.T) {
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		for _, f := range fakes {
			f.answers(granted())
		}
		capped := terms
		capped.MaxHold = 12 * time.Second
		asked := time.Now()
		lease := acquired(t, q, &capped)
		s.sleep(time.Second)
		time.Sleep(8 * time.Second)
		lease.Extend(func(err error) { require.NoError(t, err) })
		assert.Equal(t, asked.Add(11*time.Second), s.until(lease))
		assert.True(t, lease.Capped())
	})
}

func TestFreezeIfDueMakesTheDeadlineFinal(t *testing.T) {
	t.Parallel()
	for name, pass := range map[string]func(*sleeper, time.Duration){
		"time passes": func(_ *sleeper, d time.Duration) { time.Sleep(d) }, "the machine sleeps": (*sleeper).sleep,
	} {
		subSleeper(t, name, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
			lease := held(t, q, fakes)
			answer(fakes, granted(), granted(), granted())
			until := lease.Until()
			pass(s, validity-4*time.Second)
			assert.False(t, lease.FreezeIfDue(4*time.Second-1), "a nanosecond more is left")
			assert.True(t, lease.FreezeIfDue(4*time.Second))
			assert.True(t, lease.FreezeIfDue(0), "it stays final")
			require.ErrorIs(t, extend(t, lease)(), quorum.ErrEnded)
			assert.Equal(t, until, lease.Until())
		})
	}
}

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
			start := time.Now()
			out := asking{ops: hinting{hints: &hints}, terms: &terms, first: quorum.NoFirst}.acquire(t, q)
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
				assert.ErrorIs(t, got.err, quorum.ErrTooLate, "a call does not take it for an outage")
				for _, f := range fakes {
					assert.Len(t, f.asked("release"), 1)
				}
			}
		})
	}
}
