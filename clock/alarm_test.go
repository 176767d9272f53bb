package clock_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/testmain"
)

func TestAnAlarmRingsAtTheEarliestOfItsTimes(t *testing.T) {
	t.Parallel()
	type testCase struct {
		asked []time.Duration // in seconds
		want  []time.Duration // when it rang
	}
	testmain.Each(t, map[string]testCase{
		"one":               {[]time.Duration{5}, []time.Duration{5 * time.Second}},
		"later ones":        {[]time.Duration{5, 6, 7}, []time.Duration{5 * time.Second}},
		"earlier ones":      {[]time.Duration{7, 6, 5}, []time.Duration{5 * time.Second}},
		"mixed":             {[]time.Duration{6, 9, 5, 7}, []time.Duration{5 * time.Second}},
		"twice the same":    {[]time.Duration{5, 5}, []time.Duration{5 * time.Second}},
		"now":               {[]time.Duration{0}, []time.Duration{0}},
		"in the past":       {[]time.Duration{-3}, []time.Duration{0}},
		"past and future":   {[]time.Duration{4, -3}, []time.Duration{0}},
		"nothing was asked": {nil, nil},
	}, func(t *testing.T, tc testCase) {
		synctest.Test(t, func(t *testing.T) {
			began, rings := time.Now(), make(chan time.Duration, 10)
			a := clock.NewAlarm(clock.System, func() { rings <- time.Since(began) })
			for _, d := range tc.asked {
				a.By(began.Add(d * time.Second))
			}
			time.Sleep(time.Hour)
			a.Stop()
			assert.Len(t, rings, len(tc.want))
			for _, want := range tc.want {
				assert.Equal(t, want, <-rings)
			}
		})
	})
}

// A queue with growing deadlines requests each of them, and its function requests the next one that is due.
func TestNoRequestedTimeIsMissed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			var queue []time.Time
			late := 0
			var a *clock.Alarm
			a = clock.NewAlarm(clock.System, func() {
				mu.Lock()
				defer mu.Unlock()
				now := time.Now()
				pending := queue[:0]
				var next time.Time
				for _, t := range queue {
					switch {
					case !t.After(now):
						if t.Before(now) {
							late++
						}
						continue
					case next.IsZero() || t.Before(next):
						next = t
					}
					pending = append(pending, t)
				}
				queue = pending
				if !next.IsZero() {
					a.By(next)
				}
			})
			defer a.Stop()
			var askers sync.WaitGroup
			for range 4 {
				pause := rand.New(rand.NewPCG(random.Uint64(), 2))
				askers.Go(func() {
					for range 200 {
						due := time.Now().Add(time.Duration(pause.IntN(50)) * time.Millisecond)
						mu.Lock()
						queue = append(queue, due)
						mu.Unlock()
						a.By(due)
						time.Sleep(time.Duration(pause.IntN(10)) * time.Millisecond)
					}
				})
			}
			askers.Wait()
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			assert.Empty(t, queue, "seed %d", seed)
			assert.Zero(t, late, "seed %d", seed)
		})
	}
}

func TestStopWaitsForTheCallThatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var over atomic.Bool
		a := clock.NewAlarm(clock.System, func() {
			time.Sleep(time.Minute)
			over.Store(true)
		})
		a.By(time.Now().Add(time.Second))
		time.Sleep(2 * time.Second)
		a.Stop()
		assert.True(t, over.Load())
	})
}

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
