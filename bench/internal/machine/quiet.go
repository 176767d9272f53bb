// Package machine measures how busy the machine is besides the benchmark.
package machine

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Conditions describe the other activity on the machine.
type Conditions struct {
	Load   float64 `json:"load_average"` // processes that wanted a CPU in the last minute; 0 if it is not reported
	Steal  float64 `json:"steal"`        // share of CPU time that the hypervisor gave to others meanwhile
	Wobble float64 `json:"wobble"`       // how much longer the slowest tenth of equal work takes than the fastest
}

const (
	lookFor      = 400 * time.Millisecond
	pieceOfWork  = 500 * time.Microsecond
	busyLoad     = 0.25 // per CPU
	busySteal    = 0.01
	busyWobble   = 1.3
	uselessLoad  = 1.0
	uselessSteal = 0.10
	uselessSlow  = 3.0
)

// Observe measures the conditions. It takes less than half a second, and uses every CPU.
func Observe(ctx context.Context) Conditions {
	s := Conditions{Load: loadAverage()}
	before := readCPUTimes()
	s.Wobble = calibrate(ctx, lookFor)
	s.Steal = readCPUTimes().stealSince(before)
	return s
}

// Assess says how far figures that were measured under these conditions can be trusted.
func Assess(cpus int, around ...Conditions) string {
	var load, steal, wobble float64
	for _, s := range around {
		load, steal, wobble = max(load, s.Load/float64(cpus)), max(steal, s.Steal), max(wobble, s.Wobble)
	}
	switch {
	case load > uselessLoad || steal > uselessSteal || wobble > uselessSlow:
		return "others were hard at work: the figures are good for seeing that it works, ratios with a narrow spread for " +
			"a first impression"
	case load > busyLoad || steal > busySteal || wobble > busyWobble:
		return "others were at work: trust the ratios as far as their spread, and no absolute figure"
	}
	return "it was quiet: the ratios can be trusted, the absolute figures for this machine"
}

// calibrate does equal pieces of work for that long and compares the slow ones with the fast ones. It works with one
// thread: with one for each CPU it would be the noise that it looks for where CPUs share a core.
func calibrate(ctx context.Context, d time.Duration) float64 {
	size := 1
	for work(size) < pieceOfWork {
		size *= 2
	}
	var pieces []time.Duration
	for begun := time.Now(); time.Since(begun) < d && ctx.Err() == nil; {
		pieces = append(pieces, work(size))
	}
	return wobble(pieces)
}

func wobble(pieces []time.Duration) float64 {
	if len(pieces) < 10 {
		return 0
	}
	slices.Sort(pieces)
	return float64(pieces[len(pieces)*9/10]) / float64(pieces[len(pieces)/10])
}

var sink struct {
	sync.Mutex
	value uint64
}

// work takes as long for one size as the machine lets it.
func work(size int) time.Duration {
	begun := time.Now()
	x := uint64(88172645463325252)
	for range size {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	took := time.Since(begun)
	sink.Lock()
	sink.value += x // or the compiler leaves the loop out
	sink.Unlock()
	return took
}

// cpuTimes are what Linux counts, in its ticks.
type cpuTimes struct{ all, steal float64 }

func readCPUTimes() cpuTimes {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTimes{}
	}
	return parseCPUTimes(string(text))
}

// parseCPUTimes reads the first line: cpu user nice system idle iowait irq softirq steal, and guests that user has.
func parseCPUTimes(text string) (t cpuTimes) {
	line, _, _ := strings.Cut(text, "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil || i > 8 {
			continue
		}
		t.all += n
		if i == 8 {
			t.steal = n
		}
	}
	return t
}

func (t cpuTimes) stealSince(before cpuTimes) float64 {
	if t.all <= before.all {
		return 0
	}
	return (t.steal - before.steal) / (t.all - before.all)
}

// loadAverage is how many processes wanted a CPU in the last minute, as Linux reports it.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}

// CPUName returns the processor's model, or "" where the system does not provide it.
func CPUName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
