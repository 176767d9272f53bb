//go:build unix

package stacktest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// What a Trace with every hook costs 64 callers. Each iteration runs three Lockers in turn: two without a Trace, and
// one with it, so that a busy machine affects all. The metrics are the medians of the ratios to the first Locker, of
// CPU time and of elapsed time. Those of the second one, the control, say how far the machine's noise goes: believe the
// others if the control is between 0.99 and 1.01.
//
//	go test -run '^$' -bench BenchmarkTrace -benchtime 150x .
func BenchmarkTrace(b *testing.B) {
	masters := redisproc.ForTest(b, 5)
	names := make([]string, 64)
	for i := range names {
		names[i] = fmt.Sprint("name", i)
	}
	for what, name := range map[string]func(i int) string{
		"64 names": func(i int) string { return names[i] },
		"one name": func(int) string { return names[0] },
	} {
		b.Run(what, func(b *testing.B) {
			open := func(opts ...redlock.Option) *redlock.Locker {
				l, err := redlock.Open(redisproc.URLs(masters), append(opts, redlock.WithoutRestartGuard())...)
				require.NoError(b, err)
				b.Cleanup(func() { assert.NoError(b, l.Close()) })
				return l
			}
			lockers := []*redlock.Locker{open(), open(), open(redlock.WithTrace(hooked(func(string) {})))}
			for _, l := range lockers {
				hammer(b, l, name) // connects, and warms up
			}
			var cpu, elapsed [3][]float64 // ratios, by Locker
			for i := 0; b.Loop(); i++ {
				var spent, took [3]float64
				for turn := range lockers {
					which := (i + turn) % len(lockers)
					began, before := time.Now(), cpuTime(b)
					hammer(b, lockers[which], name)
					took[which], spent[which] = float64(time.Since(began)), float64(cpuTime(b)-before)
				}
				for which := range lockers {
					cpu[which] = append(cpu[which], spent[which]/spent[0])
					elapsed[which] = append(elapsed[which], took[which]/took[0])
				}
			}
			for which, of := range []string{1: "control", 2: "trace"} {
				if of != "" {
					b.ReportMetric(median(cpu[which]), of+"-cpu-ratio")
					b.ReportMetric(median(elapsed[which]), of+"-time-ratio")
				}
			}
		})
	}
}

// hammer has 64 callers lock and unlock.
func hammer(b *testing.B, l *redlock.Locker, name func(i int) string) {
	b.Helper()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for range 50 {
				assert.NoError(b, l.Do(b.Context(), name(i), func(context.Context) error { return nil }))
			}
		})
	}
	all.Wait()
}

// cpuTime returns the CPU time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
