package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/machine"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

const fallsShort = "SHORT"

// machineLine describes the machine and the software that were measured.
func (r *Report) machineLine() string {
	s := r.Setup
	text := fmt.Sprintf("%s, %d CPUs", s.System, s.CPUs)
	if s.CPU != "" {
		text += " (" + s.CPU + ")"
	}
	text += fmt.Sprintf(", %s, Redis %s, masters: %s", s.Go, s.Redis, s.Where)
	if !strings.HasPrefix(s.Where, "the user") {
		text += ", on the callers' machine"
	}
	for _, l := range s.Libraries {
		text += fmt.Sprintf("; %s %s", l.Name, l.Version)
	}
	return text
}

// caveats are what one must know before one believes a figure.
func (r *Report) caveats() (all []string) {
	s := r.Setup
	all = append(all, fmt.Sprintf("%s (load average before the run %.1f on %d CPUs; CPU time stolen before %.0f %%, "+
		"after %.0f %%; equal pieces of work took up to %.2f × and %.2f × as long)",
		machine.Assess(max(1, s.CPUs), s.Before, s.After), s.Before.Load, s.CPUs, 100*s.Before.Steal, 100*s.After.Steal,
		s.Before.Wobble, s.After.Wobble))
	if s.Smoke {
		all = append(all, "a smoke run: it shows that everything works, not how fast")
	}
	if s.Rate > 0 {
		all = append(
			all,
			fmt.Sprintf(
				"open loop, %.0f pairs a second: latency counts from when a pair was due; what a pair takes on average is then "+
					"the timetable's",
				s.Rate,
			),
		)
	}
	return all
}

// sections are the report's tables.
func (r *Report) sections() []section {
	return slices.Concat(
		r.latencySections(), r.kindSections(), r.wanSections(), r.contentionSections(), r.slotSections(),
		r.faultSections(), r.scaleSections(), checkSections(r.Checks),
	)
}

// writeTables writes the report for people.
func (r *Report) writeTables(w io.Writer) {
	for _, line := range r.headline() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, "redlock bench: "+r.machineLine())
	for _, c := range r.caveats() {
		fmt.Fprintln(w, c)
	}
	for _, s := range r.sections() {
		fmt.Fprintf(w, "\n%s\n", s.title)
		s.table.write(w)
		for _, n := range s.notes {
			fmt.Fprintln(w, n)
		}
	}
}

// loadsOf are the numbers of callers, in the order they were measured.
func loadsOf(rows []*Row) (all []int) {
	for _, row := range rows {
		if !slices.Contains(all, row.Callers) {
			all = append(all, row.Callers)
		}
	}
	return all
}

const medians = "median of %d %s [lowest–highest]"

func over(rounds int) string { return fmt.Sprintf(medians, rounds, plural(rounds, "round")) }

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

func checkSections(all []verdict) []section {
	if len(all) == 0 {
		return nil
	}
	t := table{{"target", "wanted", "got", ""}}
	for _, v := range all {
		word := "ok"
		if !v.OK {
			word = fallsShort
		}
		t = append(t, []string{v.What, v.Target, v.Got, word})
	}
	return []section{{part: "check", title: "the project's targets", table: t}}
}
