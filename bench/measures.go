package main

import "slices"

// timeOver is how many times as long a pair of a takes as one of b, round by round.
func timeOver(callers int, a, b string) func(*report) (spread, bool) {
	return func(r *report) (spread, bool) {
		return ratioOfRows(rowOf(r.Latency, callers, a), rowOf(r.Latency, callers, b), pairMicros)
	}
}

// rowOf finds a contestant's row, or nil.
func rowOf(rows []*row, callers int, name string) *row {
	for _, row := range rows {
		if row.Callers == callers && row.Contestant == name {
			return row
		}
	}
	return nil
}

func ratioOfRows(a, b *row, of func(figures) float64) (spread, bool) {
	if a == nil || b == nil || len(a.Rounds) == 0 || len(a.Rounds) != len(b.Rounds) {
		return spread{}, false
	}
	return ratioOf(a.values(of), b.values(of)), true
}

func allocsOf(callers int, name string) func(*report) (spread, bool) {
	return func(r *report) (spread, bool) {
		row := rowOf(r.Latency, callers, name)
		if row == nil || len(row.Rounds) == 0 {
			return spread{}, false
		}
		return spreadOf(row.values(func(f figures) float64 { return f.Allocs })), true
	}
}

func fencing(r *report) (spread, bool) {
	return ratioOfRows(rowOf(r.Kinds, 64, fenced), rowOf(r.Kinds, 64, plain), pairMicros)
}

func lockP50(f figures) float64   { return f.LockP50 }
func lockP99(f figures) float64   { return f.LockP99 }
func unlockP50(f figures) float64 { return f.UnlockP50 }
func unlockP99(f figures) float64 { return f.UnlockP99 }

func (r *report) wan(profile string) *wanReport {
	i := slices.IndexFunc(r.WAN, func(w *wanReport) bool { return w.Profile.Name == profile })
	if i < 0 {
		return nil
	}
	return r.WAN[i]
}

// farAlone is a lone caller's figure against what the third round trip allows.
func farAlone(of func(figures) float64) func(*report) (spread, bool) {
	return farOver(1, of, func(third float64) float64 { return 1.05*third + micros(farExtra) })
}

// farCrowd is a figure of 256 callers as a multiple of the third round trip.
func farCrowd(of func(figures) float64) func(*report) (spread, bool) {
	return farOver(256, of, func(third float64) float64 { return third })
}

func farOver(callers int, of func(figures) float64, allowed func(third float64) float64) func(*report) (spread, bool) {
	return func(r *report) (spread, bool) {
		w := r.wan(fiveContinents)
		row := w.row(callers, ours)
		if row == nil || len(row.Rounds) == 0 {
			return spread{}, false
		}
		return spreadOf(row.values(of)).over(allowed(micros(w.Profile.third()))), true
	}
}

func (r *report) fault(scenario string) *faultReport {
	i := slices.IndexFunc(r.Faults, func(f *faultReport) bool { return f.Scenario.Name == scenario && f.Contestant == ours })
	if i < 0 {
		return nil
	}
	return r.Faults[i]
}

func faultOf(scenario string, of func(*faultReport) float64) func(*report) (spread, bool) {
	return func(r *report) (spread, bool) {
		f := r.fault(scenario)
		if f == nil {
			return spread{}, false
		}
		return just(of(f)), true
	}
}

func frozenP99(scenario string) func(*report) (spread, bool) {
	return faultOf(scenario, func(f *faultReport) float64 {
		return f.FaultP99 / (frozenFactor*f.HealthyP99 + micros(frozenExtra))
	})
}

func frozenLongest(scenario string) func(*report) (spread, bool) {
	return faultOf(scenario, func(f *faultReport) float64 { return f.Longest / 1000 })
}

func frozenLeft(scenario string) func(*report) (spread, bool) {
	return faultOf(scenario, func(f *faultReport) float64 { return float64(f.Left) })
}

func contentionOf(rows []*contentionRow, s shape, name string) *contentionRow {
	for _, row := range rows {
		if row.Shape == s && row.Contestant == name && len(row.Rounds) > 0 {
			return row
		}
	}
	return nil
}

// gotOver is how many times as many acquisitions a makes as b.
func gotOver(s shape, a, b string) func(*report) (spread, bool) {
	return func(r *report) (spread, bool) {
		over, under := contentionOf(r.Contention, s, a), contentionOf(r.Contention, s, b)
		if over == nil || under == nil || len(over.Rounds) != len(under.Rounds) {
			return spread{}, false
		}
		return ratioOf(over.values(perSecond), under.values(perSecond)), true
	}
}

func crowdOf(s shape, name string, of func(contentionRound) float64) func(*report) (spread, bool) {
	return func(r *report) (spread, bool) {
		row := contentionOf(r.Contention, s, name)
		if row == nil {
			return spread{}, false
		}
		return spreadOf(row.values(of)), true
	}
}

func byGoroutine(r contentionRound) float64   { return r.Goroutines }
func byProcess(r contentionRound) float64     { return r.Processes }
func longestMillis(r contentionRound) float64 { return r.Waits.Longest / 1000 }

// overlaps adds up what ours must never show.
func overlaps(r *report) (spread, bool) {
	var n float64
	measured := false
	for _, row := range r.Contention {
		if row.Contestant == ours || row.Contestant == oursReleased {
			for _, round := range row.Rounds {
				n, measured = n+float64(round.Overlaps), true
			}
		}
	}
	return just(n), measured
}

func scaleOf(of func(*scaleReport) float64) func(*report) (spread, bool) {
	return func(r *report) (spread, bool) {
		if r.Scale == nil {
			return spread{}, false
		}
		return just(of(r.Scale)), true
	}
}

// idleCPU is measured only as the target has it: it grows with the locks and shrinks with the TTL.
func idleCPU(r *report) (spread, bool) {
	s := r.Scale
	if s == nil || s.Locks != fullHeld || s.TTL != scaleTTL || s.Idle != scaleIdle || s.CPU < 0 {
		return spread{}, false
	}
	return just(s.CPU), true
}

// failedShare is about pairs of ours that did not succeed, in %: a fast lock that fails is none.
func failedShare(r *report) (spread, bool) {
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
		if f.Contestant == ours {
			pairs, failed = pairs+int64(f.Pairs), failed+f.Failed
		}
	}
	for _, row := range r.Contention {
		if row.Contestant == ours || row.Contestant == oursReleased {
			for _, round := range row.Rounds {
				pairs, failed = pairs+round.Acquired, failed+round.Failed
			}
		}
	}
	if pairs+failed == 0 {
		return spread{}, false
	}
	return just(100 * float64(failed) / float64(pairs+failed)), true
}
