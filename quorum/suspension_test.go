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

func TestFreezeIfDueMakesTheDeadlineFinal(t *testing.T) {
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		answerAll(fakes, granted())
		until := lease.Until()
		time.Sleep(time.Second)
		s.sleep(validity - 5*time.Second)
		assert.False(t, lease.FreezeIfDue(4*time.Second-1), "a nanosecond more is left")
		assert.True(t, lease.FreezeIfDue(4*time.Second))
		assert.True(t, lease.FreezeIfDue(0), "it stays final")
		require.ErrorIs(t, extend(t, lease)(), quorum.ErrEnded)
		assert.Equal(t, until, lease.Until())
	})
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

// The votes arrive late, as in a process that was paused after its requests were sent, or on a machine that slept. With
// fencing they may come three node timeouts after the acquire began.
func TestGrantsThatComeTooLateFailTheAcquire(t *testing.T) {
	t.Parallel()
	const usedUp, oldHint = "the validity is used up", "too late for a fencing token"
	for _, tt := range []struct {
		name          string
		fencing       bool
		asleep, after time.Duration
		why           string // "": in time
	}{
		{"with a nanosecond to spare", false, 0, validity - 1, ""},
		{"with nothing left", false, 0, validity, usedUp},
		{"long after", false, 0, time.Hour, usedUp},
		{"asleep, in time", false, 3 * time.Second, 2 * time.Second, ""},
		{"asleep for longer than the validity", false, terms.TTL, time.Millisecond, usedUp},
		{"fenced, in time", true, 0, 3 * terms.Timeout, ""},
		{"fenced, too late", true, 0, 3*terms.Timeout + 1, oldHint},
		{"fenced, and asleep", true, 2*terms.Timeout + 1, terms.Timeout, oldHint},
		{"too late only with fencing", false, 0, 3*terms.Timeout + 1, ""},
	} {
		subSleeper(t, tt.name, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
			terms := terms
			terms.Fencing = tt.fencing
			var hints []time.Time
			asked := time.Now()
			out := asking{ops: hinting{hints: &hints}, terms: &terms, first: quorum.NoFirst}.acquire(t, q)
			s.sleep(tt.asleep)
			time.Sleep(tt.after)
			for _, f := range fakes {
				f.vote(t, "acquire", numbered(granted(), 7))
			}
			got := decided(t, out)
			if tt.fencing {
				require.Equal(t, []time.Time{asked}, hints, "the start of the stopwatch on the wall clock")
			}
			if tt.why == "" {
				require.NoError(t, got.err)
				assert.Equal(t, asked.Add(validity-tt.asleep), s.until(got.lease))
				return
			}
			require.ErrorIs(t, got.err, quorum.ErrNoQuorum)
			require.ErrorContains(t, got.err, tt.why)
			assert.ErrorIs(t, got.err, quorum.ErrTooLate, "a call does not take it for an outage")
			for _, f := range fakes {
				assert.Len(t, f.asked("release"), 1)
			}
		})
	}
}

// A node drops an extension that it has not written when the lease ends. That is no failure of the extension.
func TestNoExtensionCountsAfterTheEndOfItsLease(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*sleeper, *quorum.Lease){
		"its deadline has passed": func(*sleeper, *quorum.Lease) { time.Sleep(validity) },
		"the machine slept":       func(s *sleeper, _ *quorum.Lease) { s.sleep(validity) },
		"released":                func(_ *sleeper, l *quorum.Lease) { l.Release(false, nil) },
	} {
		for what, vote := range map[string]*wire.Vote{"granted": granted(), "dropped": unsent()} {
			subSleeper(t, name+", "+what, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
				lease := held(t, q, fakes)
				assert.Nil(t, fakes[0].asked("acquire")[0].Ended, "an acquire has no deadline yet")
				until, result := lease.Until(), extend(t, lease)
				call := fakes[0].asked("extend")[0]
				assert.False(t, call.Ended())
				end(s, lease)
				assert.True(t, call.Ended(), "an unwritten extension is dropped")
				assert.Equal(t, name == "released", call.Canceled.Load())
				for _, f := range fakes {
					f.vote(t, "extend", vote)
				}
				require.ErrorIs(t, result(), quorum.ErrEnded, "another holder may have had the lock")
				require.ErrorIs(t, extend(t, lease)(), quorum.ErrEnded)
				assert.Len(t, fakes[0].asked("extend"), 1, "nothing more is sent")
				assert.Equal(t, until, lease.Until())
			})
		}
	}
}

// It counts if a majority has granted it a nanosecond before the deadline.
func TestAnExtensionCountsFromItsRequestAndNeverShortens(t *testing.T) {
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		s.sleep(time.Second)
		result1 := extend(t, lease)
		time.Sleep(time.Second)
		second := time.Now()
		result2 := extend(t, lease)
		s.sleep(3 * time.Second)
		time.Sleep(time.Until(s.until(lease)) - 1)
		vote := func(i int) {
			for _, f := range fakes[:2] {
				c := f.asked("extend")[i]
				c.Voter.Vote(int(c.Index), *granted())
			}
		}
		vote(1)
		require.NoError(t, result2())
		until := second.Add(validity - 3*time.Second) // a suspension before the request does not count
		assert.Equal(t, until, s.until(lease))
		vote(0)
		require.NoError(t, result1())
		assert.Equal(t, until, s.until(lease), "the one that was asked first promises less")
	})
}

// An extension cannot make up for a suspension beyond the maximum hold.
func TestMaxHoldCapsTheLease(t *testing.T) {
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		answerAll(fakes, granted())
		capped, brief := terms, terms
		capped.MaxHold, brief.MaxHold = 15*time.Second, time.Second
		asked := time.Now()
		lease := acquired(t, q, &capped)
		assert.False(t, lease.Capped())
		assert.Equal(t, asked.Add(validity), s.until(lease))
		s.sleep(time.Second)
		time.Sleep(8 * time.Second)
		lease.Extend(func(err error) { require.NoError(t, err) })
		assert.Equal(t, asked.Add(14*time.Second), s.until(lease))
		assert.True(t, lease.Capped())

		short := acquired(t, q, &brief)
		assert.Equal(t, time.Second, time.Until(s.until(short)))
		assert.True(t, short.Capped())
	})
}
