package clock_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/testmain"
)

// rings records when an alarm rang, from a beginning.
type rings struct {
	began time.Time

	mu  sync.Mutex
	all []time.Duration
}

func (r *rings) ring() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, time.Since(r.began))
}

func (r *rings) at() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]time.Duration(nil), r.all...)
}

func inBubble(t *testing.T, f func(t *testing.T, a *clock.Alarm, r *rings)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rings{began: time.Now()}
		a := clock.NewAlarm(clock.System, r.ring)
		defer a.Stop()
		f(t, a, r)
	})
}

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
		inBubble(t, func(t *testing.T, a *clock.Alarm, r *rings) {
			for _, d := range tc.asked {
				a.By(r.began.Add(d * time.Second))
			}
			time.Sleep(time.Hour)
			assert.Equal(t, tc.want, r.at())
		})
	})
}

func TestAnAlarmCanBeSetAgainAfterItRang(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, a *clock.Alarm, r *rings) {
		var want []time.Duration
		for range 5 {
			want = append(want, time.Since(r.began)+time.Second)
			a.By(time.Now().Add(time.Second))
			time.Sleep(time.Second)
			synctest.Wait()
		}
		assert.Equal(t, want, r.at())
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
