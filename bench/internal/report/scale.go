package report

import (
	"time"
)

// Scale is the cost of many held locks with keepalive.
type Scale struct {
	Locks      int           `json:"locks"`
	TTL        time.Duration `json:"ttl_ns"`
	Idle       time.Duration `json:"idle_ns"`
	TakenIn    time.Duration `json:"taken_in_ns"`
	Heap       float64       `json:"heap_bytes_per_lock"`
	Goroutines int           `json:"goroutines"`       // of the Locker: beyond those that ran before it
	CPU        float64       `json:"cpu_seconds_idle"` // of this process, while idle; -1 if it is not reported
	Extensions float64       `json:"extend_commands_per_second_and_master"`
	Lost       int           `json:"lost"`
}
