package clock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
)

// stopped is a clock that stands still, and whose calls a test makes itself. It was suspended for five seconds.
type stopped struct {
	now    time.Time
	timers []*timer
}

type timer struct {
	call    func()
	stopped bool
	resets  int
}

func (s *stopped) Now() time.Time           { return s.now }
func (s *stopped) Suspended() time.Duration { return 5 * time.Second }

func (s *stopped) AfterFunc(_ time.Duration, f func()) clock.Timer {
	t := &timer{call: f}
	s.timers = append(s.timers, t)
	return t
}

func (t *timer) Stop() bool {
	t.stopped = true
	return true
}

func (t *timer) Reset(time.Duration) bool {
	t.resets++
	return true
}

func TestALaterTimeCostsNoTimer(t *testing.T) {
	t.Parallel()
	s := &stopped{now: time.Now()}
	a := clock.NewAlarm(s, func() {})
	for i := range 1000 {
		a.By(s.now.Add(time.Minute + time.Duration(i)))
	}
	require.Len(t, s.timers, 1)
	assert.Zero(t, s.timers[0].resets)
}

// The call of a timer may have begun when Stop is called.
func TestAnAlarmThatWasStoppedDoesNotRing(t *testing.T) {
	t.Parallel()
	s := &stopped{now: time.Now()}
	rings := 0
	a := clock.NewAlarm(s, func() { rings++ })
	a.By(s.now.Add(time.Second))
	require.Len(t, s.timers, 1)
	a.Stop()
	assert.True(t, s.timers[0].stopped)
	s.timers[0].call()
	assert.Zero(t, rings)
	a.Stop()

	b := clock.NewAlarm(s, func() { rings++ })
	b.Stop()
	b.By(s.now)
	a.By(s.now)
	assert.Len(t, s.timers, 1, "a stopped alarm sets no timer")
}

func TestSleepLeavesNoTimer(t *testing.T) {
	t.Parallel()
	s := &stopped{now: time.Now()}
	require.NoError(t, clock.Sleep(t.Context(), s, 0))
	assert.Empty(t, s.timers)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, clock.Sleep(ctx, s, time.Hour), context.Canceled)
	require.Len(t, s.timers, 1)
	assert.True(t, s.timers[0].stopped)
}

func TestOnlyASuspenderReportsSuspensions(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 5*time.Second, clock.Suspended(&stopped{}))
	assert.Zero(t, clock.Suspended(struct{ clock.Clock }{clock.System}))
}
