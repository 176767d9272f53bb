package clock_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/clock"
)

// sleepy is the bubble's clock on a machine that is suspended for as long as a test says: the bubble's time stands for
// the time in which the machine runs.
type sleepy struct {
	clock.Clock
	slept     atomic.Int64 // a time.Duration
	onReading func()       // called after a reading, before it is returned
}

func (s *sleepy) Suspended() time.Duration {
	slept := time.Duration(s.slept.Load())
	if f := s.onReading; f != nil {
		f()
	}
	return slept
}

func onSleepy(t *testing.T, f func(t *testing.T, s *sleepy, c clock.Clock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &sleepy{Clock: clock.System}
		s.slept.Store(int64(time.Hour))
		f(t, s, clock.CountSuspensions(s))
	})
}

func TestTimesCountSuspensions(t *testing.T) {
	t.Parallel()
	onSleepy(t, func(t *testing.T, s *sleepy, c clock.Clock) {
		began := c.Now()
		time.Sleep(time.Second)
		s.slept.Add(int64(time.Minute))
		assert.Equal(t, time.Minute+time.Second, c.Now().Sub(began))

		s.onReading = func() { s.slept.Add(int64(time.Hour)) }
		before := c.Now()
		s.onReading = nil
		assert.Equal(t, time.Hour, c.Now().Sub(before), "a suspension right after the reading counts in the next one")
	})
}

func TestOutsideIsATimeOfTheClockThatStandsStill(t *testing.T) {
	t.Parallel()
	onSleepy(t, func(t *testing.T, s *sleepy, c clock.Clock) {
		deadline := c.Now().Add(time.Hour)
		assert.Equal(t, time.Now().Add(time.Hour), clock.Outside(c, deadline))
		s.slept.Add(int64(time.Minute))
		assert.Equal(t, time.Now().Add(time.Hour-time.Minute), clock.Outside(c, deadline))
		assert.Equal(t, deadline, clock.Outside(clock.System, deadline), "it counts none")
	})
}

func TestSuspensionsAreCountedOnce(t *testing.T) {
	t.Parallel()
	onSleepy(t, func(t *testing.T, _ *sleepy, c clock.Clock) {
		assert.Same(t, c, clock.CountSuspensions(c))
		still := struct{ clock.Clock }{clock.System}
		assert.Equal(t, still, clock.CountSuspensions(still), "a clock that reports no suspensions")
	})
}

// The machine is suspended half a second after a timer was set for d.
func TestATimerFiresWithinASecondOfASuspension(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		d           time.Duration
		slept       time.Duration
		least, most time.Duration // of running time
	}{
		{"no suspension", time.Hour, 0, time.Hour, time.Hour},
		{"a short timer", time.Second / 4, time.Hour, time.Second / 4, time.Second / 4},
		{"a suspension beyond it", time.Hour, 2 * time.Hour, time.Second / 2, 3 * time.Second / 2},
		{"a suspension for half of it", time.Hour, time.Hour / 2, time.Hour / 2, time.Hour / 2},
		{"at once", 0, 0, 0, 0},
		{"in the past", -time.Hour, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, reset := range []bool{false, true} {
				onSleepy(t, func(t *testing.T, s *sleepy, c clock.Clock) {
					began, fired := time.Now(), make(chan time.Duration, 2)
					f := func() { fired <- time.Since(began) }
					var timer clock.Timer
					if reset {
						timer = c.AfterFunc(100*time.Hour, f)
						assert.True(t, timer.Reset(tt.d))
					} else {
						timer = c.AfterFunc(tt.d, f)
					}
					time.Sleep(time.Second / 2)
					s.slept.Add(int64(tt.slept))
					at := <-fired
					assert.GreaterOrEqual(t, at, tt.least)
					assert.LessOrEqual(t, at, tt.most)
					time.Sleep(200 * time.Hour)
					synctest.Wait()
					assert.Empty(t, fired, "once")
					assert.False(t, timer.Stop())
				})
			}
		})
	}
}

func TestReadingTheClockAllocatesNothing(t *testing.T) {
	c := clock.CountSuspensions(clock.System)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Now() }))
}

func TestATimerCanBeMovedAndStopped(t *testing.T) {
	t.Parallel()
	onSleepy(t, func(t *testing.T, _ *sleepy, counting clock.Clock) {
		for _, c := range []clock.Clock{clock.System, counting} {
			var rings atomic.Int64
			ring := func() { rings.Add(1) }
			timer := c.AfterFunc(time.Second, ring)
			assert.True(t, timer.Reset(time.Minute))
			time.Sleep(2 * time.Second)
			assert.Zero(t, rings.Load())
			time.Sleep(time.Minute)
			assert.EqualValues(t, 1, rings.Load())
			assert.False(t, timer.Stop())

			c.AfterFunc(-time.Second, ring)
			synctest.Wait()
			assert.EqualValues(t, 2, rings.Load(), "at once")

			timer = c.AfterFunc(time.Hour, ring)
			time.Sleep(time.Minute)
			assert.True(t, timer.Stop())
			assert.False(t, timer.Stop())
			time.Sleep(2 * time.Hour)
			assert.EqualValues(t, 2, rings.Load())
			assert.False(t, timer.Reset(time.Minute))
			time.Sleep(2 * time.Minute)
			assert.EqualValues(t, 3, rings.Load())
		}
	})
}
