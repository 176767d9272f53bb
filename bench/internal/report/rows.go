package report

import (
	"slices"
	"strings"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

// A Row holds the rounds of one contestant with one number of callers.
type Row struct {
	Callers    int            `json:"callers"`
	Contestant string         `json:"contestant"`
	Masters    int            `json:"masters"`
	Rounds     []load.Figures `json:"rounds"`
	CDF        []load.Point   `json:"cdf,omitempty"` // of one pair, all rounds together
}

// values picks one figure of every round.
func (r *Row) values(of func(load.Figures) float64) []float64 {
	all := make([]float64, len(r.Rounds))
	for i, f := range r.Rounds {
		all[i] = of(f)
	}
	return all
}

// ours reports whether the contestant of the row is redlock.
func (r *Row) ours() bool {
	return r.Contestant == peers.Redlock || strings.HasPrefix(r.Contestant, peers.Redlock+"-") ||
		slices.ContainsFunc(peers.Kinds(), func(c *peers.Contestant) bool { return c.Name == r.Contestant })
}

func pairMicros(f load.Figures) float64 { return f.PairMicros }

// cells are a row's own figures.
func (r *Row) cells() []string {
	return []string{
		spreadOf(r.values(pairMicros)).format(1),
		spreadOf(r.values(func(f load.Figures) float64 { return f.P50 })).format(0),
		spreadOf(r.values(func(f load.Figures) float64 { return f.P99 })).format(0),
		spreadOf(r.values(func(f load.Figures) float64 { return f.Allocs })).format(0),
	}
}
