package report

import (
	"time"

	"github.com/redlock-go/redlock/bench/internal/load"
)

// LeftoverDelay is the time from the fault's end until the keys that are left are counted.
const LeftoverDelay = 2 * time.Second

// Fault is the effect of a fault on one of five masters on one contestant.
type Fault struct {
	Scenario   Scenario      `json:"scenario"`
	Contestant string        `json:"contestant"`
	Callers    int           `json:"callers"`
	Rate       float64       `json:"rate,omitempty"`
	TTL        time.Duration `json:"ttl_ns"`
	Guard      bool          `json:"restart_guard"`
	From       float64       `json:"fault_from_s"` // in the timeline
	To         float64       `json:"fault_to_s"`
	HealthyP99 float64       `json:"healthy_p99_us"`
	HealthyP50 float64       `json:"healthy_p50_us"`
	FaultP50   float64       `json:"fault_p50_us"`
	FaultP99   float64       `json:"fault_p99_us"`
	Longest    float64       `json:"longest_us"` // of all that began in the fault or after it
	Pairs      int           `json:"pairs"`
	Failed     int64         `json:"failed"`
	Left       int64         `json:"keys_left"` // on the master, two seconds after the fault's end
	Few        []string      `json:"some_keys_left,omitempty"`
	Timeline   []load.Moment `json:"timeline"`
}
