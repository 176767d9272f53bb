package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// A report is everything that a run found out; its JSON is the machine's form of it.
type report struct {
	Setup      setup            `json:"setup"`
	Latency    []*row           `json:"latency,omitempty"`
	Kinds      []*row           `json:"kinds,omitempty"`
	WAN        []*wanReport     `json:"wan,omitempty"`
	Contention []*contentionRow `json:"contention,omitempty"`
	Faults     []*faultReport   `json:"faults,omitempty"`
	Scale      *scaleReport     `json:"scale,omitempty"`
	Checks     []verdict        `json:"checks,omitempty"`
}

// A setup is what one needs to know to believe the figures, or to repeat them.
type setup struct {
	Started     time.Time     `json:"started"`
	Took        time.Duration `json:"took_ns"`
	Go          string        `json:"go"`
	System      string        `json:"system"`
	CPU         string        `json:"cpu,omitempty"`
	CPUs        int           `json:"cpus"`
	Before      surroundings  `json:"before"`
	After       surroundings  `json:"after"`
	Redis       string        `json:"redis"`
	Where       string        `json:"masters"`
	Smoke       bool          `json:"smoke"`
	TTL         time.Duration `json:"ttl_ns"`
	Slice       time.Duration `json:"slice_ns"`
	Rounds      int           `json:"rounds"`
	Rate        float64       `json:"rate,omitempty"` // pairs a second; 0: a closed loop
	Pool        int           `json:"pool_size"`      // of the peers' clients, for each master
	Parts       []string      `json:"parts"`
	Contestants []*contestant `json:"contestants"`
}

func readReport(path string) (*report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s is no report that bench has written: %w", path, err)
	}
	r.Checks = nil // the targets may have changed since
	return &r, nil
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
