// Package report holds the figures of a run, compares them with targets and with other runs, and writes them as tables,
// JSON and HTML.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

// A Report holds all results of a run. Its JSON is the machine-readable form.
type Report struct {
	Setup   Setup     `json:"setup"`
	Figures []*Figure `json:"figures"`
	Notes   []string  `json:"notes,omitempty"`
	Pairs   int       `json:"pairs"`  // of ours
	Failed  int       `json:"failed"` // of ours
	Checks  []verdict `json:"checks,omitempty"`
}

// A Figure is one figure of one contestant in one case of a part.
type Figure struct {
	Part   string    `json:"part"`
	Case   string    `json:"case"`
	Who    string    `json:"who"`
	Name   string    `json:"name"`
	Rounds []float64 `json:"rounds"`
}

// A Setup describes what was measured, how and where: what a reader needs to judge the figures or to repeat them.
type Setup struct {
	Started time.Time     `json:"started"`
	Go      string        `json:"go"`
	System  string        `json:"system"`
	CPU     string        `json:"cpu,omitempty"`
	CPUs    int           `json:"cpus"`
	Load    float64       `json:"load_average"` // before the run
	Steal   float64       `json:"steal"`        // during the run
	Redis   string        `json:"redis"`
	Peers   []string      `json:"peers,omitempty"` // the versions of their libraries
	Where   string        `json:"masters"`
	Smoke   bool          `json:"smoke"`
	TTL     time.Duration `json:"ttl_ns"`
	Parts   []string      `json:"parts"`
}

// The cases that targets and pictures name.
const (
	FiveContinents = "five-continents"
	FreeSlots      = "a slot for every caller"
	FullSlots      = "8 slots for 64 callers"
)

// Callers names a case by its number of callers.
func Callers(n int) string {
	if n == 1 {
		return "1 caller"
	}
	return fmt.Sprintf("%d callers", n)
}

// Shape names a case by the number of processes, and of goroutines in each, that contend for one name.
func Shape(processes, goroutines int) string { return fmt.Sprintf("%d × %d", processes, goroutines) }

// Add adds one round of some figures.
func (r *Report) Add(part, in, who string, values ...load.Value) {
	for _, v := range values {
		f := r.find(part, in, who, v.Name)
		if f == nil {
			f = &Figure{Part: part, Case: in, Who: who, Name: v.Name}
			r.Figures = append(r.Figures, f)
		}
		f.Rounds = append(f.Rounds, v.V)
	}
}

// Count counts pairs for the share that failed. why is the reason of a failure.
func (r *Report) Count(part, in, who string, pairs, failed int, why string) {
	if peers.Ours(who) {
		r.Pairs, r.Failed = r.Pairs+pairs, r.Failed+failed
	}
	if failed > 0 {
		r.Note("%s, %s, %s: %d of %d failed: %s", part, in, peers.Label(who), failed, pairs+failed, why)
	}
}

// Note adds a note for readers.
func (r *Report) Note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r *Report) find(part, in, who, name string) *Figure {
	for _, f := range r.Figures {
		if f.Part == part && f.Case == in && f.Who == who && f.Name == name {
			return f
		}
	}
	return nil
}

// Find returns the rounds of a figure, or nil if it was not measured.
func (r *Report) Find(part, in, who, name string) []float64 {
	if f := r.find(part, in, who, name); f != nil {
		return f.Rounds
	}
	return nil
}

// distinct returns the values that of has for the figures of a part and case, in the order in which they were measured.
// An empty part or case is any.
func (r *Report) distinct(part, in string, of func(*Figure) string) (all []string) {
	for _, f := range r.Figures {
		if (part == "" || f.Part == part) && (in == "" || f.Case == in) && !slices.Contains(all, of(f)) {
			all = append(all, of(f))
		}
	}
	return all
}

func partOf(f *Figure) string { return f.Part }
func caseOf(f *Figure) string { return f.Case }
func whoOf(f *Figure) string  { return f.Who }
func nameOf(f *Figure) string { return f.Name }

// A spread is what a figure was over the rounds.
type spread struct{ Low, Median, High float64 }

// spreadOf returns the spread of at least one value.
func spreadOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	s := spread{sorted[0], sorted[mid], sorted[len(sorted)-1]}
	if len(sorted)%2 == 0 {
		s.Median = (sorted[mid-1] + sorted[mid]) / 2
	}
	return s
}

// ratios divides round by round: what disturbed the machine in one round disturbed both. It returns nil if there are no
// rounds to compare.
func ratios(over, under []float64) (all []float64) {
	if len(over) != len(under) {
		return nil
	}
	for i := range over {
		all = append(all, over[i]/under[i])
	}
	return all
}

// higherIsBetter reports it of the figures that have a direction; known is false for the others.
func higherIsBetter(name string) (higher, known bool) {
	switch {
	case strings.HasSuffix(name, "locks/s"), strings.HasPrefix(name, "slowest"):
		return true, true
	case strings.HasSuffix(name, "/pair"), strings.HasSuffix(name, "µs"), strings.HasSuffix(name, "/lock"),
		strings.HasSuffix(name, "ms"), strings.HasSuffix(name, "p50"), strings.HasSuffix(name, "p99"):
		return false, true
	}
	return false, false
}

// ReadReport reads a run that was saved as JSON.
func ReadReport(path string) (*Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s is no report that bench has written: %w", path, err)
	}
	r.Checks = nil // the targets may have changed since
	return &r, nil
}
