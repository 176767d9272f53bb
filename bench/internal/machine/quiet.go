// Package machine measures how busy the machine is besides the benchmark.
package machine

import (
	"os"
	"strconv"
	"strings"
)

const (
	busyLoad     = 0.25 // per CPU
	busySteal    = 0.01
	uselessLoad  = 1.0
	uselessSteal = 0.10
)

// Assess says how far figures can be trusted that were measured after this load, with this share of CPU time stolen.
func Assess(load float64, cpus int, steal float64) string {
	switch load /= float64(cpus); {
	case load > uselessLoad || steal > uselessSteal:
		return "others were hard at work: the figures are good for seeing that it works, ratios with a narrow spread for " +
			"a first impression"
	case load > busyLoad || steal > busySteal:
		return "others were at work: trust the ratios as far as their spread, and no absolute figure"
	}
	return "it was quiet: the ratios can be trusted, the absolute figures for this machine"
}

// Times are what Linux counts, in its ticks: all CPU time, and that which the hypervisor gave to others.
type Times struct{ all, steal float64 }

// CPUTimes returns the times so far, or zeros if the system does not report them.
func CPUTimes() Times {
	text, _ := os.ReadFile("/proc/stat")
	return parseTimes(string(text))
}

// parseTimes reads the first line: cpu user nice system idle iowait irq softirq steal, and guests that user has.
func parseTimes(text string) (t Times) {
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

// StealSince returns the share of the CPU time since before that the hypervisor gave to others.
func (t Times) StealSince(before Times) float64 {
	if t.all <= before.all {
		return 0
	}
	return (t.steal - before.steal) / (t.all - before.all)
}

// CPUSeconds returns the CPU time that this process has used, in Linux' hundredths of a second, or 0 if the system does
// not report it.
func CPUSeconds() float64 {
	text, _ := os.ReadFile("/proc/self/stat")
	_, rest, _ := strings.Cut(string(text), ") ") // the name of the program may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}

// LoadAverage returns how many processes wanted a CPU in the last minute, or 0 if the system does not report it.
func LoadAverage() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

// CPUName returns the processor's model, or "" where the system does not provide it.
func CPUName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
