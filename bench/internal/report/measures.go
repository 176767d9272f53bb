package report

import (
	"slices"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

// timeRatio divides the time of a pair of a by that of b, round by round.
func timeRatio(callers int, a, b string) func(*Report) (spread, bool) {
	return func(r *Report) (spread, bool) {
		return ratioOfRows(RowOf(r.Latency, callers, a), RowOf(r.Latency, callers, b), pairMicros)
	}
}

// RowOf returns the row of a contestant, or nil.
func RowOf(rows []*Row, callers int, name string) *Row {
	for _, row := range rows {
		if row.Callers == callers && row.Contestant == name {
			return row
		}
	}
	return nil
}

func ratioOfRows(a, b *Row, of func(load.Figures) float64) (spread, bool) {
	if a == nil || b == nil || len(a.Rounds) == 0 || len(a.Rounds) != len(b.Rounds) {
		return spread{}, false
	}
	return ratioOf(a.values(of), b.values(of)), true
}

func allocsOf(callers int, name string) func(*Report) (spread, bool) {
	return func(r *Report) (spread, bool) {
		row := RowOf(r.Latency, callers, name)
		if row == nil || len(row.Rounds) == 0 {
			return spread{}, false
		}
		return spreadOf(row.values(func(f load.Figures) float64 { return f.Allocs })), true
	}
}

func fencing(r *Report) (spread, bool) {
	return ratioOfRows(RowOf(r.Kinds, 64, peers.FencedMutex), RowOf(r.Kinds, 64, peers.Mutex), pairMicros)
}

func lockP50(f load.Figures) float64 { return f.LockP50 }

func lockP99(f load.Figures) float64 { return f.LockP99 }

func unlockP50(f load.Figures) float64 { return f.UnlockP50 }

func unlockP99(f load.Figures) float64 { return f.UnlockP99 }

func (r *Report) wanProfile(profile string) *WAN {
	i := slices.IndexFunc(r.WAN, func(w *WAN) bool { return w.Profile.Name == profile })
	if i < 0 {
		return nil
	}
	return r.WAN[i]
}

// farSingleCaller divides the figure of a single caller by the time that the third round trip allows.
func farSingleCaller(of func(load.Figures) float64) func(*Report) (spread, bool) {
	return farOver(1, of, func(third float64) float64 { return 1.05*third + load.Micros(farExtra) })
}

// farManyCallers is a figure of 256 callers as a multiple of the third round trip.
func farManyCallers(of func(load.Figures) float64) func(*Report) (spread, bool) {
	return farOver(256, of, func(third float64) float64 { return third })
}

func farOver(
	callers int,
	of func(load.Figures) float64,
	allowed func(third float64) float64,
) func(*Report) (spread, bool) {
	return func(r *Report) (spread, bool) {
		w := r.wanProfile(FiveContinents)
		row := w.Row(callers, peers.Redlock)
		if row == nil || len(row.Rounds) == 0 {
			return spread{}, false
		}
		return spreadOf(row.values(of)).dividedBy(allowed(load.Micros(w.Profile.Third()))), true
	}
}

func (r *Report) faultNamed(scenario string) *Fault {
	i := slices.IndexFunc(
		r.Faults,
		func(f *Fault) bool { return f.Scenario.Name == scenario && f.Contestant == peers.Redlock },
	)
	if i < 0 {
		return nil
	}
	return r.Faults[i]
}

func faultOf(scenario string, of func(*Fault) float64) func(*Report) (spread, bool) {
	return func(r *Report) (spread, bool) {
		f := r.faultNamed(scenario)
		if f == nil {
			return spread{}, false
		}
		return single(of(f)), true
	}
}

func frozenP99(scenario string) func(*Report) (spread, bool) {
	return faultOf(scenario, func(f *Fault) float64 {
		return f.FaultP99 / (frozenFactor*f.HealthyP99 + load.Micros(frozenExtra))
	})
}

func frozenLongest(scenario string) func(*Report) (spread, bool) {
	return faultOf(scenario, func(f *Fault) float64 { return f.Longest / 1000 })
}

func frozenLeft(scenario string) func(*Report) (spread, bool) {
	return faultOf(scenario, func(f *Fault) float64 { return float64(f.Left) })
}

func contentionOf(rows []*ContentionRow, s Shape, name string) *ContentionRow {
	for _, row := range rows {
		if row.Shape == s && row.Contestant == name && len(row.Rounds) > 0 {
			return row
		}
	}
	return nil
}

// throughputRatio divides the acquisitions of a by those of b, round by round.
func throughputRatio(s Shape, a, b string) func(*Report) (spread, bool) {
	return func(r *Report) (spread, bool) {
		return throughputOf(contentionOf(r.Contention, s, a), contentionOf(r.Contention, s, b))
	}
}

// throughputOf divides the throughput of a row by that of another one, round by round. A row may be nil.
func throughputOf(over, under *ContentionRow) (spread, bool) {
	if over == nil || under == nil || len(over.Rounds) != len(under.Rounds) {
		return spread{}, false
	}
	return ratioOf(over.values(perSecond), under.values(perSecond)), true
}

func contentionFigure(s Shape, name string, of func(ContentionRound) float64) func(*Report) (spread, bool) {
	return func(r *Report) (spread, bool) {
		row := contentionOf(r.Contention, s, name)
		if row == nil {
			return spread{}, false
		}
		return spreadOf(row.values(of)), true
	}
}

func byGoroutine(r ContentionRound) float64 { return r.Goroutines }

func byProcess(r ContentionRound) float64 { return r.Processes }

func longestMillis(r ContentionRound) float64 { return r.Waits.Longest / 1000 }

// overlaps adds up what ours must never show.
func overlaps(r *Report) (spread, bool) {
	var n float64
	measured := false
	for _, row := range r.Contention {
		if row.Contestant == peers.Redlock || row.Contestant == peers.RedlockNoHandOver {
			for _, round := range row.Rounds {
				n, measured = n+float64(round.Overlaps), true
			}
		}
	}
	return single(n), measured
}

func scaleOf(of func(*Scale) float64) func(*Report) (spread, bool) {
	return func(r *Report) (spread, bool) {
		if r.Scale == nil {
			return spread{}, false
		}
		return single(of(r.Scale)), true
	}
}

// idleCPU is measured only as the target has it: it grows with the locks and shrinks with the TTL.
func idleCPU(r *Report) (spread, bool) {
	s := r.Scale
	if s == nil || s.Locks != FullLocks || s.TTL != ScaleTTL || s.Idle != ScaleTTL || s.CPU < 0 {
		return spread{}, false
	}
	return single(s.CPU), true
}

// failedShare is about pairs of ours that did not succeed, in %: a fast lock that fails is none.
func failedShare(r *Report) (spread, bool) {
	var pairs, failed int64
	rows := slices.Concat(r.Latency, r.Kinds)
	for _, w := range r.WAN {
		rows = append(rows, w.Rows...)
	}
	for _, row := range rows {
		if row.ours() {
			for _, f := range row.Rounds {
				pairs, failed = pairs+f.Pairs, failed+f.Failed
			}
		}
	}
	for _, f := range r.Faults {
		if f.Contestant == peers.Redlock {
			pairs, failed = pairs+int64(f.Pairs), failed+f.Failed
		}
	}
	for _, row := range r.Contention {
		if row.Contestant == peers.Redlock || row.Contestant == peers.RedlockNoHandOver {
			for _, round := range row.Rounds {
				pairs, failed = pairs+round.Acquired, failed+round.Failed
			}
		}
	}
	for _, row := range r.Slots {
		for _, round := range row.Rounds {
			pairs, failed = pairs+round.Acquired, failed+round.Failed
		}
	}
	if pairs+failed == 0 {
		return spread{}, false
	}
	return single(100 * float64(failed) / float64(pairs+failed)), true
}
