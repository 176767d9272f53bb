package simnet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/simnet"
)

func TestClockRunsFastOrSlow(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0.5, 0.97, 1, 1.01, 3} {
		synctest.Test(t, func(t *testing.T) {
			c := simnet.NewClock()
			c.Rate(rate)
			start, shown := time.Now(), c.Now()
			fired := make(chan time.Time)
			c.AfterFunc(10*time.Second, func() { fired <- c.Now() })
			until := shown.Add(10 * time.Second)
			at := <-fired
			assert.WithinDuration(t, until, at, time.Microsecond)
			assert.False(t, at.Before(until), "never early")
			assert.InDelta(t, 10/rate, time.Since(start).Seconds(), 1e-6)
			assert.WithinDuration(t, c.World(until), time.Now(), time.Microsecond)
		})
	}
}

func TestClockChangesItsRateUnderATimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, start := simnet.NewClock(), time.Now()
		fired := make(chan struct{})
		c.AfterFunc(10*time.Second, func() { close(fired) })
		time.Sleep(4 * time.Second)
		c.Rate(2)
		<-fired
		assert.InDelta(t, 7, time.Since(start).Seconds(), 1e-6)
	})
}

// A time that the clock showed is translated by the rate that it had then, whatever it has now.
func TestWorldKnowsTheRatesThatTheClockHad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := simnet.NewClock()
		was := map[time.Time]time.Time{} // by what was shown
		for _, rate := range []float64{0.5, 1, 2, 0.97} {
			before := c.Now()
			c.Rate(rate)
			assert.Equal(t, before, c.Now(), "it does not jump")
			for range 3 {
				time.Sleep(time.Second)
				was[c.Now()] = time.Now()
			}
		}
		for shown, at := range was {
			assert.WithinDuration(t, at, c.World(shown), time.Microsecond)
		}
		c.SetAhead(time.Hour)
		for shown, at := range was {
			assert.WithinDuration(t, at, c.World(shown.Add(time.Hour)), time.Microsecond)
		}
		to := c.Now().Add(time.Second)
		assert.InDelta(t, 1/0.97, time.Until(c.World(to)).Seconds(), 1e-6, "what is to come")
	})
}

func TestFrozenClockStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, start := simnet.NewClock(), time.Now()
		fired := make(chan string, 9)
		c.AfterFunc(time.Second, func() { fired <- "one" })
		stopped := c.AfterFunc(time.Second, func() { fired <- "stopped" })
		c.AfterFunc(9*time.Second, func() { fired <- "nine" })
		c.Freeze()
		late := c.AfterFunc(0, func() { fired <- "zero" })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		assert.Empty(t, fired)
		assert.Equal(t, start, c.Now())
		assert.True(t, stopped.Stop())
		assert.True(t, late.Reset(3*time.Second), "three seconds of a clock that stands still")

		c.Thaw()
		synctest.Wait()
		assert.Equal(t, start.Add(5*time.Second), c.Now())
		assert.ElementsMatch(t, []string{"one", "zero"}, []string{<-fired, <-fired})
		assert.Empty(t, fired)
		assert.False(t, late.Stop())
		assert.Equal(t, "nine", <-fired)
		assert.Equal(t, 9*time.Second, time.Since(start))
	})
}

func TestClockTimerAfterItFired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := simnet.NewClock()
		fired := make(chan struct{}, 9)
		timer := c.AfterFunc(time.Second, func() { fired <- struct{}{} })
		<-fired
		assert.False(t, timer.Stop())
		assert.False(t, timer.Reset(time.Second))
		<-fired
		assert.False(t, timer.Reset(time.Second))
		assert.True(t, timer.Stop())
		time.Sleep(time.Minute)
		assert.Empty(t, fired)
	})
}

func TestAStepSetsTheTimeOfDayAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, monotonic := range map[string]bool{"monotonic": true, "wall": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { steps(t, monotonic) })
		})
	}
}

func steps(t *testing.T, monotonic bool) {
	t.Helper()
	c, start := simnet.NewClock(), time.Now()
	if monotonic {
		c.Monotonic()
	}
	before := c.Now()
	assert.True(t, start.Equal(before.Round(0)), "at first it shows the bubble's time")
	fired := make(chan struct{})
	c.AfterFunc(10*time.Second, func() { close(fired) })
	c.SetAhead(time.Minute)
	assert.Equal(t, time.Minute, c.Now().Round(0).Sub(start))
	assert.Equal(t, start, c.World(c.Now()).Round(0))
	<-fired
	assert.Equal(t, 10*time.Second, time.Since(start))
	c.Freeze()
	c.SetAhead(-2 * time.Minute)
	assert.Equal(t, -50*time.Second, c.Now().Round(0).Sub(start))
	c.Thaw()
	after := c.Now()
	assert.Equal(t, -50*time.Second, after.Round(0).Sub(start))
	if monotonic {
		assert.Equal(t, 10*time.Second, after.Sub(before))
		assert.True(t, after.After(before))
		assert.Equal(t, 10*time.Second, c.World(after).Sub(c.World(before)))
	}
}
