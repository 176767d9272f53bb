package simulation_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

var (
	schedules = flag.Int("schedules", ordinary, "how many schedules to run")
	seed      = flag.Uint64("seed", 0, "the first seed; 0 draws one")
)

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	debug.SetGCPercent(400) // every script starts an interpreter
	goleak.VerifyTestMain(m)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// run runs one schedule in its own bubble.
func run(t *testing.T, s simulation.Schedule, open simulation.Open) (r *simulation.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		r = simulation.Run(t, s, open)
	})
	return r
}

// totals add up what all schedules did.
type totals struct{ done, holds, handed, commands, took atomic.Int64 }

// TestSchedules runs random schedules. Each must keep every promise: no two holders at the same time, no late
// notification of a loss, no keys left behind, and locks for all clients after the faults.
func TestSchedules(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64N(1_000_000_000) + 1
	}
	t.Logf("seeds from %d to %d", first, first+uint64(*schedules)-1)
	var sum totals
	start := time.Now()
	stop := progress(&sum, start)
	t.Run("all", func(t *testing.T) {
		for i := range *schedules {
			s := simulation.Draw(first + uint64(i))
			t.Run(fmt.Sprintf("seed=%d", s.Seed), func(t *testing.T) {
				t.Parallel()
				r := run(t, s, simulation.Product())
				sum.add(r)
				if !r.OK() {
					t.Error(r.Report())
				}
			})
		}
	})
	stop()
	n := sum.done.Load()
	t.Logf("%d schedules in %v: %v of virtual time, %d holds, %d of them handed over, %d commands", n, time.Since(start).
		Round(time.Millisecond),
		time.Duration(sum.took.Load()).Round(time.Second), sum.holds.Load(), sum.handed.Load(), sum.commands.Load())
	require.Greater(t, sum.holds.Load(), 5*n, "schedules without holds show nothing")
}

func (s *totals) add(r *simulation.Result) {
	s.done.Add(1)
	s.holds.Add(int64(r.Holds))
	s.handed.Add(int64(r.HandedOver))
	s.commands.Add(int64(r.Commands))
	s.took.Add(int64(r.Took))
}

// progress prints every few seconds how many schedules have run.
func progress(s *totals, start time.Time) (stop func()) {
	ticker := time.NewTicker(5 * time.Second)
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(os.Stderr, "simulation: %d of %d schedules after %v\n", s.done.Load(), *schedules, time.Since(start).
					Round(time.Second))
			case <-over:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(over)
		<-ended
	}
}
