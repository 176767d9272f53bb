//go:build unix

package redlock_test

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

// What a Trace with every hook costs 64 callers. Each iteration runs both Lockers, one after the other, so that a busy
// machine affects both. The metrics are the medians of their ratios: of CPU time, and of elapsed time.
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
			plain, traced := open(), open(redlock.WithTrace(hooked(func(string) {})))
			var cpu, elapsed []float64
			for b.Loop() {
				order := []*redlock.Locker{plain, traced}
				if len(cpu)%2 == 1 {
					slices.Reverse(order)
				}
				spent, took := make(map[*redlock.Locker]float64), make(map[*redlock.Locker]float64)
				for _, l := range order {
					began, before := time.Now(), cpuTime(b)
					hammer(b, l, name)
					took[l], spent[l] = float64(time.Since(began)), float64(cpuTime(b)-before)
				}
				cpu = append(cpu, spent[traced]/spent[plain])
				elapsed = append(elapsed, took[traced]/took[plain])
			}
			b.ReportMetric(median(cpu), "cpu-ratio")
			b.ReportMetric(median(elapsed), "time-ratio")
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
