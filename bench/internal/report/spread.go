package report

import (
	"slices"
)

// A spread is what a figure was over the rounds.
type spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// spreadOf returns the spread of at least one value.
func spreadOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	s := spread{Median: sorted[mid], Low: sorted[0], High: sorted[len(sorted)-1]}
	if len(sorted)%2 == 0 {
		s.Median = (sorted[mid-1] + sorted[mid]) / 2
	}
	return s
}

// ratioOf returns the spread of over/under, round by round: what disturbed the machine in one round disturbed both.
func ratioOf(over, under []float64) spread {
	return spreadOf(ratios(over, under))
}

func ratios(over, under []float64) []float64 {
	all := make([]float64, len(over))
	for i := range over {
		all[i] = over[i] / under[i]
	}
	return all
}

// single is the spread of a figure that was measured once.
func single(v float64) spread { return spread{v, v, v} }

// dividedBy divides by a value that is the same in every round.
func (s spread) dividedBy(d float64) spread { return spread{s.Median / d, s.Low / d, s.High / d} }
