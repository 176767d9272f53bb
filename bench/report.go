package main

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// A report is everything that a run found out; its JSON is the machine's form of it.
type report struct {
	Setup   setup         `json:"setup"`
	Latency []*row        `json:"latency,omitempty"`
	Kinds   []*row        `json:"kinds,omitempty"`
	Frozen  *frozenReport `json:"frozen,omitempty"`
	Checks  []verdict     `json:"checks,omitempty"`
}

// A setup is what one needs to know to believe the figures, or to repeat them.
type setup struct {
	Started     time.Time     `json:"started"`
	Go          string        `json:"go"`
	System      string        `json:"system"`
	CPUs        int           `json:"cpus"`
	Load        float64       `json:"load_average"` // of the minute before the run; 0 where the system does not tell
	Redis       string        `json:"redis"`
	Smoke       bool          `json:"smoke"`
	TTL         time.Duration `json:"ttl_ns"`
	Slice       time.Duration `json:"slice_ns"`
	Rounds      int           `json:"rounds"`
	Pool        int           `json:"pool_size"` // of the peers' clients, for each master
	Contestants []*contestant `json:"contestants"`
}

// loadAverage is how many processes wanted a CPU in the last minute, as Linux tells it.
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

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// row finds a contestant's row, or nil.
func (r *report) row(callers int, name string) *row {
	for _, row := range r.Latency {
		if row.Callers == callers && row.Contestant == name {
			return row
		}
	}
	return nil
}

// throughput is how many times the throughput of base a contestant has, round by round; false if one of the two was not
// measured.
func (r *report) throughput(callers int, name, base string) (spread, bool) {
	a, b := r.row(callers, name), r.row(callers, base)
	if a == nil || b == nil || len(a.Rounds) == 0 || len(a.Rounds) != len(b.Rounds) {
		return spread{}, false
	}
	return ratioOf(b.values(pairMicros), a.values(pairMicros)), true
}
