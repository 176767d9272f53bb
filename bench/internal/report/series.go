package report

import (
	"fmt"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

// A series is one figure of a run, over its rounds.
type series struct {
	key            string // the same in every run
	values         []float64
	higherIsBetter bool // is better
	ours           bool
}

// allSeries are the figures that two runs are compared by. Throughput ratios to redsync stand next to the times: they
// survive a change of machine.
func (r *Report) allSeries() (all []series) {
	pairs := func(part string, rows []*Row, base string) {
		for _, row := range rows {
			if len(row.Rounds) == 0 {
				continue
			}
			name := fmt.Sprintf("%s, %d %s, %s: ", part, row.Callers, plural(row.Callers, "caller"), row.Contestant)
			all = append(
				all,
				series{key: name + "µs/pair", values: row.values(pairMicros), ours: row.ours()},
				series{key: name + "p99 µs", values: row.values(func(f load.Figures) float64 { return f.P99 }), ours: row.ours()},
				series{
					key:    name + "allocs/pair",
					values: row.values(func(f load.Figures) float64 { return f.Allocs }),
					ours:   row.ours(),
				},
			)
			if b := RowOf(rows, row.Callers, base); b != nil && b != row && len(b.Rounds) == len(row.Rounds) {
				all = append(
					all,
					series{
						key:    name + "time, × " + base + "'s",
						values: ratios(row.values(pairMicros), b.values(pairMicros)),
						ours:   row.ours(),
					},
				)
			}
		}
	}
	pairs("latency", r.Latency, peers.Redsync)
	pairs("kinds", r.Kinds, peers.Mutex)
	for _, w := range r.WAN {
		pairs("wan, "+w.Profile.Name, w.Rows, peers.Redsync)
	}
	for _, row := range r.Contention {
		if len(row.Rounds) > 0 {
			name := fmt.Sprintf("contention, %v, %s: ", row.Shape, row.Contestant)
			mine := row.Contestant == peers.Redlock || row.Contestant == peers.RedlockNoHandOver
			all = append(
				all,
				series{key: name + "locks/s", values: row.values(perSecond), higherIsBetter: true, ours: mine},
				series{
					key:    name + "longest wait, µs",
					values: row.values(func(c ContentionRound) float64 { return c.Waits.Longest }),
					ours:   mine,
				},
			)
		}
	}
	if r.Scale != nil {
		all = append(
			all,
			series{
				key:    fmt.Sprintf("scale, %d locks: bytes of heap each", r.Scale.Locks),
				values: []float64{r.Scale.Heap},
				ours:   true,
			},
		)
	}
	return all
}
