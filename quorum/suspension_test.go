package quorum_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/quorum"
)

// sleeper is a clock of a machine that was suspended for as long as a test says.
type sleeper struct {
	clock.Clock
	suspended time.Duration
	readings  int
	onReading func() // called after a reading, before it is returned
}

func (s *sleeper) Suspended() time.Duration {
	s.readings++
	reading := s.suspended
	if f := s.onReading; f != nil {
		s.onReading = nil
		f()
	}
	return reading
}

// onSleeper runs f in a bubble, with a quorum on a machine that was suspended for an hour before.
func onSleeper(t *testing.T, f func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &sleeper{Clock: clock.System, suspended: time.Hour}
		q, fakes := council(t, 3, func(c *quorum.Config) { c.Clock = s })
		f(t, s, q, fakes)
	})
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
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
				asked := time.Now()
				out := acquire(t, q, quorum.NoFirst)
				s.suspended += tt.asleep
				time.Sleep(tt.pause)
				fakes[0].vote(t, "acquire", granted())
				fakes[1].vote(t, "acquire", granted())
				got := decided(t, out)
				if tt.err != nil {
					require.ErrorIs(t, got.err, tt.err)
					return
				}
				require.NoError(t, got.err)
				assert.Equal(t, asked.Add(validity-tt.counted), got.lease.Until())
			})
		})
	}
}

func TestASuspensionDuringAnExtensionShortensIt(t *testing.T) {
	t.Parallel()
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		time.Sleep(2 * time.Second)
		s.suspended += time.Second
		asked := time.Now()
		done, result := newDone(t)
		lease.Extend(done)
		s.suspended += 3 * time.Second
		fakes[0].vote(t, "extend", granted())
		fakes[1].vote(t, "extend", granted())
		require.NoError(t, result())
		assert.Equal(t, asked.Add(validity-3*time.Second), lease.Until(), "the suspension before the request does not count")
	})
}

// A suspension right after the reading that an extension takes counts if another goroutine notices it.
func TestASuspensionThatAnotherGoroutineNoticesShortensTheExtension(t *testing.T) {
	t.Parallel()
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		time.Sleep(time.Second)
		asked := time.Now()
		done, result := newDone(t)
		lease.Extend(done)
		fakes[0].vote(t, "extend", granted())
		s.onReading = func() {
			s.suspended += 3 * time.Second
			lease.CountSuspension()
		}
		fakes[1].vote(t, "extend", granted())
		require.NoError(t, result())
		lease.CountSuspension()
		assert.Equal(t, asked.Add(validity-3*time.Second), lease.Until())
	})
}

func TestASuspensionEndsTheLeaseThatAnExtensionCannotSave(t *testing.T) {
	t.Parallel()
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		done, result := newDone(t)
		lease.Extend(done)
		s.suspended += terms.TTL
		fakes[0].vote(t, "extend", granted())
		fakes[1].vote(t, "extend", granted())
		require.ErrorIs(t, result(), quorum.ErrEnded, "another holder may have had the lock")
	})
}

func TestAnExtensionOfAnEndedLeaseAsksNoNode(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*sleeper){
		"its deadline has passed": func(*sleeper) { time.Sleep(validity) },
		"the machine slept":       func(s *sleeper) { s.suspended += validity },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
				lease := held(t, q, fakes)
				end(s)
				done, result := newDone(t)
				lease.Extend(done)
				require.ErrorIs(t, result(), quorum.ErrEnded)
				assert.Empty(t, fakes[0].asked("extend"))
			})
		})
	}
}

func TestCountSuspensionMovesTheDeadlineOnce(t *testing.T) {
	t.Parallel()
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		before := lease.Until()
		lease.CountSuspension()
		assert.Equal(t, before, lease.Until())
		s.suspended += 2 * time.Second
		lease.CountSuspension()
		lease.CountSuspension()
		assert.Equal(t, before.Add(-2*time.Second), lease.Until())
		lease.FreezeDeadline()
		s.suspended += 2 * time.Second
		lease.CountSuspension()
		assert.Equal(t, before.Add(-2*time.Second), lease.Until(), "final")
		assert.Equal(t, time.Hour+4*time.Second, q.Suspended())
	})
}

// An extension cannot make up for a suspension beyond the maximum hold.
func TestASuspensionMovesTheCap(t *testing.T) {
	t.Parallel()
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		for _, f := range fakes {
			f.answers(granted())
		}
		capped := terms
		capped.MaxHold = 12 * time.Second
		asked := time.Now()
		lease, err := q.Acquire(t.Context(), ops{}, &capped, quorum.NoFirst, new(quorum.PermanentFailures))
		require.NoError(t, err)
		s.suspended += time.Second
		time.Sleep(8 * time.Second)
		lease.Extend(func(err error) { require.NoError(t, err) })
		assert.Equal(t, asked.Add(11*time.Second), lease.Until())
		assert.True(t, lease.Capped())
	})
}

func TestALeaseWithoutAMaximumIsNotCapped(t *testing.T) {
	t.Parallel()
	q, fakes := council(t, 3)
	assert.False(t, held(t, q, fakes).Capped())
	assert.Zero(t, q.Suspended(), "the clock cannot tell")
}

func TestExpiresWithinMakesTheDeadlineFinal(t *testing.T) {
	t.Parallel()
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		for _, f := range fakes {
			f.answers(granted())
		}
		until := lease.Until()
		time.Sleep(validity - 4*time.Second)
		assert.False(t, lease.ExpiresWithin(4*time.Second-1), "a nanosecond more is left")
		assert.True(t, lease.ExpiresWithin(4*time.Second))
		assert.True(t, lease.ExpiresWithin(0), "it stays final")
		lease.Extend(func(err error) { require.ErrorIs(t, err, quorum.ErrEnded) })
		assert.Equal(t, until, lease.Until())
	})
}

func TestExpiresWithinCountsASuspension(t *testing.T) {
	t.Parallel()
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		until := lease.Until()
		time.Sleep(2 * time.Second)
		s.suspended += 3 * time.Second
		assert.False(t, lease.ExpiresWithin(time.Second))
		assert.Equal(t, until.Add(-3*time.Second), lease.Until())
		assert.True(t, lease.ExpiresWithin(terms.TTL))
	})
}

// A reading may cost system calls, so a request takes one of up to a second ago. Its votes take a new one.
func TestARequestReusesAReadingOfTheSuspensionsForASecond(t *testing.T) {
	t.Parallel()
	onSleeper(t, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
		for _, f := range fakes {
			f.answers(granted())
		}
		time.Sleep(5 * time.Second)
		for _, tt := range []struct {
			pause    time.Duration
			readings int
		}{{0, 2}, {0, 1}, {time.Second, 1}, {time.Second + 1, 2}} {
			time.Sleep(tt.pause)
			before := s.readings
			_, err := q.Acquire(t.Context(), ops{}, &terms, quorum.NoFirst, new(quorum.PermanentFailures))
			require.NoError(t, err)
			assert.Equal(t, tt.readings, s.readings-before)
		}
	})
}
