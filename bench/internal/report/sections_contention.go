package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

func (r *Report) contentionSections() (all []section) {
	var shapes []Shape
	for _, row := range r.Contention {
		if !slices.Contains(shapes, row.Shape) && len(row.Rounds) > 0 {
			shapes = append(shapes, row.Shape)
		}
	}
	for _, s := range shapes {
		rows := slices.DeleteFunc(
			slices.Clone(r.Contention), func(row *ContentionRow) bool { return row.Shape != s || len(row.Rounds) == 0 },
		)
		all = append(
			all,
			contentionSection(
				"contention", fmt.Sprintf("one name, processes × goroutines %v: %s", s, over(len(rows[0].Rounds))), rows,
			),
		)
	}
	return all
}

func contentionSection(part, title string, rows []*ContentionRow) section {
	s := section{part: part, title: title}
	s.table = table{
		{
			"contestant", "masters", "locks/s", "wait p50 ms", "p99 ms", "half of waiting ms", "longest ms",
			"slowest/fastest goroutine", "process",
		},
	}
	for _, row := range rows {
		cell := func(of func(ContentionRound) float64) string { return spreadOf(row.values(of)).brief() }
		wait := func(of func(load.Waits) float64) string {
			return cell(func(r ContentionRound) float64 { return of(r.Waits) / 1000 })
		}
		s.table = append(s.table, []string{
			peers.Label(row.Contestant), strconv.Itoa(row.Masters), cell(perSecond),
			wait(func(w load.Waits) float64 { return w.P50 }), wait(func(w load.Waits) float64 { return w.P99 }),
			wait(func(w load.Waits) float64 { return w.Half }), wait(func(w load.Waits) float64 { return w.Longest }),
			cell(byGoroutine), cell(byProcess),
		})
		for _, round := range row.Rounds {
			if round.Failed > 0 {
				s.notes = append(
					s.notes, fmt.Sprintf("%s: %d failed, the last with: %s", peers.Label(row.Contestant), round.Failed, round.Failure),
				)
			}
			if round.Overlaps > 0 {
				s.notes = append(
					s.notes,
					fmt.Sprintf(
						"%s: two goroutines of one process held the name at once, %d times", peers.Label(row.Contestant), round.Overlaps,
					),
				)
			}
		}
	}
	s.notes = append(s.notes, "half of waiting: half of all time spent waiting was spent in waits longer than this")
	return s
}

func (r *Report) faultSections() (all []section) {
	if len(r.Faults) == 0 {
		return nil
	}
	f := r.Faults[0]
	s := section{
		part: "faults",
		title: fmt.Sprintf(
			"one of five masters fails under a steady load, %d callers, TTL %v, lock + unlock", f.Callers, f.TTL,
		),
	}
	s.table = table{
		{
			"the master is", "contestant", "healthy p50 µs", "p99 µs", "meanwhile p50 µs", "p99 µs", "longest ms", "failed",
			"keys left",
		},
	}
	for _, f := range r.Faults {
		whole := func(us float64) string { return strconv.FormatFloat(us, 'f', 0, 64) }
		s.table = append(s.table, []string{
			f.Scenario.What, peers.Label(f.Contestant), whole(f.HealthyP50), whole(f.HealthyP99), whole(f.FaultP50),
			whole(f.FaultP99),
			single(f.Longest / 1000).brief(), fmt.Sprint(f.Failed), fmt.Sprint(f.Left),
		})
		if f.Left > 0 {
			s.notes = append(
				s.notes,
				fmt.Sprintf(
					"%s, %s: left, among others: %s", f.Scenario.What, peers.Label(f.Contestant), strings.Join(f.Few, ", "),
				),
			)
		}
	}
	s.notes = append(
		s.notes,
		fmt.Sprintf(
			"keys left: on that master, %v after the fault's end; longest: of all pairs that began in the fault or after it",
			LeftoverDelay,
		),
	)
	if !f.Guard {
		s.notes = append(
			s.notes,
			"restart guard off: the masters are too young for this TTL, but came up empty for this run and do not restart",
		)
	}
	return []section{s}
}

func (r *Report) scaleSections() []section {
	s := r.Scale
	if s == nil {
		return nil
	}
	cpu := "not measured here"
	if s.CPU >= 0 {
		cpu = single(s.CPU).brief()
	}
	return []section{{
		part: "scale", title: fmt.Sprintf("%d held locks with keepalive in one Locker, five masters, TTL %v", s.Locks, s.TTL),
		table: table{
			{
				"heap per lock, bytes", "goroutines", fmt.Sprintf("CPU s in %v idle", s.Idle), "extend commands/s, each master",
				"lost over two TTLs", "taken in",
			},
			{
				single(s.Heap).format(0), strconv.Itoa(s.Goroutines), cpu, single(s.Extensions).format(0), strconv.Itoa(s.Lost),
				s.TakenIn.Round(time.Millisecond).String(),
			},
		},
	}}
}
