package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

func (r *Report) latencySections() (all []section) {
	for _, callers := range loadsOf(r.Latency) {
		s := section{part: "latency", title: fmt.Sprintf("lock + unlock, %d %s, distinct names, TTL %v, %v a round: %s",
			callers, plural(callers, "caller"), r.Setup.TTL, r.Setup.Slice, over(r.Setup.Rounds))}
		s.table = table{
			{"contestant", "masters", "µs/pair", "p50 µs", "p99 µs", "allocs/pair", "× redsync", "× bsm/redislock", "× floor"},
		}
		for _, row := range r.Latency {
			if row.Callers != callers {
				continue
			}
			ratio := func(base string) string {
				got, ok := ratioOfRows(RowOf(r.Latency, callers, base), row, pairMicros)
				if !ok || base == row.Contestant {
					return "–"
				}
				return got.format(2)
			}
			s.table = append(
				s.table,
				slices.Concat(
					[]string{peers.Label(row.Contestant), strconv.Itoa(row.Masters)}, row.cells(),
					[]string{ratio(peers.Redsync), ratio(peers.Redislock), ratio(peers.LowerBound)},
				),
			)
		}
		s.notes = []string{"× is throughput against theirs in the same round: above 1 is faster"}
		all = append(all, s)
	}
	if len(all) > 0 {
		last := &all[len(all)-1]
		last.notes = append(last.notes, failuresIn(r.Latency)...)
		for _, c := range r.Setup.Contestants {
			last.notes = append(last.notes, peers.Label(c.Name)+": "+c.Setup)
		}
		last.notes = append(
			last.notes, fmt.Sprintf("PoolSize of the peers' clients: %d connections to each master", r.Setup.Pool),
		)
	}
	return all
}

func failuresIn(rows []*Row) (all []string) {
	for _, row := range rows {
		var pairs, failed int64
		var why string
		for _, f := range row.Rounds {
			pairs, failed = pairs+f.Pairs, failed+f.Failed
			if why == "" {
				why = f.Failure
			}
		}
		if failed > 0 {
			all = append(all, fmt.Sprintf("%s, %d %s: %d of %d pairs failed, the first with: %s",
				peers.Label(row.Contestant), row.Callers, plural(row.Callers, "caller"), failed, pairs+failed, why))
		}
	}
	return all
}

func (r *Report) kindSections() (all []section) {
	for _, callers := range loadsOf(r.Kinds) {
		base := RowOf(r.Kinds, callers, peers.Mutex).values(pairMicros)
		s := section{part: "kinds", title: fmt.Sprintf("kinds: lock + unlock, %d %s, distinct names, %d masters: %s",
			callers, plural(callers, "caller"), peers.QuorumMasters, over(len(base)))}
		s.table = table{{"kind", "µs/pair", "p50 µs", "p99 µs", "allocs/pair", "time × " + peers.Mutex + "'s"}}
		for _, row := range r.Kinds {
			if row.Callers == callers {
				s.table = append(
					s.table,
					slices.Concat([]string{row.Contestant}, row.cells(), []string{ratioOf(row.values(pairMicros), base).format(2)}),
				)
			}
		}
		s.notes = []string{"× is time against the " + peers.Mutex + "'s in the same round: above 1 is slower"}
		all = append(all, s)
	}
	if len(all) > 0 {
		last := &all[len(all)-1]
		last.notes = append(last.notes, failuresIn(r.Kinds)...)
	}
	return all
}

func (r *Report) wanSections() (all []section) {
	for _, w := range r.WAN {
		third := load.Micros(w.Profile.Third())
		s := section{
			part:  "wan",
			title: fmt.Sprintf("far masters, %v: multiples of the third round trip, %v", w.Profile, w.Profile.Third()),
		}
		s.table = table{{"contestant", "callers", "Lock p50", "p99", "Extend p50", "p99", "Unlock p50", "p99"}}
		for _, row := range w.Rows {
			times := func(of func(load.Figures) float64) string { return spreadOf(row.values(of)).dividedBy(third).format(2) }
			s.table = append(s.table, []string{
				peers.Label(row.Contestant), strconv.Itoa(row.Callers), times(lockP50), times(lockP99),
				times(func(f load.Figures) float64 { return f.ExtendP50 }),
				times(func(f load.Figures) float64 { return f.ExtendP99 }),
				times(unlockP50), times(unlockP99),
			})
		}
		s.notes = append(failuresIn(w.Rows), "callers want names of their own; "+over(len(w.Rows[0].Rounds)))
		all = append(all, s)
		if len(w.HandOver) > 0 {
			all = append(
				all,
				contentionSection(
					"wan", fmt.Sprintf("%s: hand-over, %v goroutines want one name", w.Profile.Name, w.HandOver[0].Shape), w.HandOver,
				),
			)
		}
	}
	return all
}
