package report

import (
	"fmt"

	"github.com/redlock-go/redlock/bench/internal/load"
)

// A Shape is the number of processes, and of goroutines in each, that contend for one name.
type Shape struct {
	Processes  int `json:"processes"`
	Goroutines int `json:"goroutines"`
}

func (s Shape) String() string { return fmt.Sprintf("%d × %d", s.Processes, s.Goroutines) }

var (
	oneProcess     = Shape{1, 32}
	eightProcesses = Shape{8, 4}
)

// ContentionRow holds the rounds of one contestant in one shape.
type ContentionRow struct {
	Shape      Shape             `json:"shape"`
	Contestant string            `json:"contestant"`
	Masters    int               `json:"masters"`
	Rounds     []ContentionRound `json:"rounds"`
}

// ContentionRound is what one round under contention measured.
type ContentionRound struct {
	PerSecond  float64    `json:"acquisitions_per_second"`
	Waits      load.Waits `json:"waits"`
	Goroutines float64    `json:"slowest_by_fastest_goroutine"`
	Processes  float64    `json:"slowest_by_fastest_process"`
	Least      float64    `json:"slowest_goroutine_by_mean"`
	Acquired   int64      `json:"acquired"`
	Overlaps   int64      `json:"overlaps"` // more goroutines of one process than may held the name at once
	Failed     int64      `json:"failed"`
	Failure    string     `json:"failure,omitempty"`
}

func (r *ContentionRow) values(of func(ContentionRound) float64) []float64 {
	all := make([]float64, len(r.Rounds))
	for i, round := range r.Rounds {
		all[i] = of(round)
	}
	return all
}

func perSecond(r ContentionRound) float64 { return r.PerSecond }
