// Package report holds the results of a run, compares them with targets and with other runs, and writes them as tables,
// JSON, Markdown and HTML.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redlock-go/redlock/bench/internal/machine"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

// A Report holds all results of a run. Its JSON is the machine-readable form.
type Report struct {
	Setup      Setup            `json:"setup"`
	Latency    []*Row           `json:"latency,omitempty"`
	Kinds      []*Row           `json:"kinds,omitempty"`
	WAN        []*WAN           `json:"wan,omitempty"`
	Contention []*ContentionRow `json:"contention,omitempty"`
	Waiting    []*WaitingRow    `json:"waiting,omitempty"`
	Slots      []*ContentionRow `json:"slots,omitempty"`
	Faults     []*Fault         `json:"faults,omitempty"`
	Scale      *Scale           `json:"scale,omitempty"`
	Checks     []verdict        `json:"checks,omitempty"`
}

// A Setup describes what was measured, how and where: what a reader needs to judge the figures or to repeat them.
type Setup struct {
	Started     time.Time           `json:"started"`
	Took        time.Duration       `json:"took_ns"`
	Go          string              `json:"go"`
	System      string              `json:"system"`
	CPU         string              `json:"cpu,omitempty"`
	CPUs        int                 `json:"cpus"`
	Before      machine.Conditions  `json:"before"`
	After       machine.Conditions  `json:"after"`
	Redis       string              `json:"redis"`
	Libraries   []peers.Version     `json:"libraries,omitempty"` // of the peers; older runs have none
	Where       string              `json:"masters"`
	Smoke       bool                `json:"smoke"`
	TTL         time.Duration       `json:"ttl_ns"`
	Slice       time.Duration       `json:"slice_ns"`
	Rounds      int                 `json:"rounds"`
	Rate        float64             `json:"rate,omitempty"` // pairs a second; 0: a closed loop
	Pool        int                 `json:"pool_size"`      // of the peers' clients, for each master
	Parts       []string            `json:"parts"`
	Contestants []*peers.Contestant `json:"contestants"`
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

func (r *Report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// A Scenario describes a fault on one master in the middle of a steady load.
type Scenario struct {
	Name  string        `json:"name"`
	What  string        `json:"what"`
	Lasts time.Duration `json:"lasts_ns"`
}
