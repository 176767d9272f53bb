package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// busy is the share of the CPUs that others may want before the run for its figures to be worth something.
const busy = 0.25

// writeTables writes the report for people.
func (r *report) writeTables(w io.Writer) {
	s := r.Setup
	fmt.Fprintf(w, "redlock bench: %s, %d CPUs, %s, Redis %s, masters and callers on this one machine\n", s.System, s.CPUs, s.Go, s.Redis)
	if s.Load > busy*float64(s.CPUs) {
		fmt.Fprintf(w, "others were at work on it when this began (load average %.1f): trust the ratios only as far as their spread\n", s.Load)
	}
	if s.Smoke {
		fmt.Fprintln(w, "a smoke run: it shows that everything works, not how fast")
	}
	for _, callers := range loadsOf(r.Latency) {
		r.writeLatency(w, callers)
	}
	writeFailures(w, r.Latency)
	if len(r.Latency) > 0 {
		fmt.Fprintln(w)
		for _, c := range s.Contestants {
			fmt.Fprintf(w, "%s: %s\n", c.Name, c.Setup)
		}
		fmt.Fprintf(w, "PoolSize of the peers' clients: %d connections to each master\n", s.Pool)
	}
	r.writeKinds(w)
	if r.Frozen != nil {
		r.Frozen.write(w)
	}
	if len(r.Checks) > 0 {
		writeChecks(w, r.Checks)
	}
}

// loadsOf are the numbers of callers, in the order they were measured.
func loadsOf(rows []*row) (all []int) {
	seen := map[int]bool{}
	for _, row := range rows {
		if !seen[row.Callers] {
			seen[row.Callers] = true
			all = append(all, row.Callers)
		}
	}
	return all
}

func (r *report) writeLatency(w io.Writer, callers int) {
	fmt.Fprintf(w, "\nlock + unlock, %d %s, distinct names, TTL %v: median of %d rounds of %v [lowest–highest]\n",
		callers, plural(callers, "caller"), r.Setup.TTL, r.Setup.Rounds, r.Setup.Slice)
	t := table{{"contestant", "masters", "µs/pair", "p50 µs", "p99 µs", "allocs/pair", "× redsync", "× bsm/redislock"}}
	for _, row := range r.Latency {
		if row.Callers != callers {
			continue
		}
		ratio := func(base string) string {
			s, ok := r.throughput(callers, row.Contestant, base)
			if !ok || base == row.Contestant {
				return "–"
			}
			return s.format(2)
		}
		t = append(t, slices.Concat([]string{row.Contestant, strconv.Itoa(row.Masters)}, row.cells(),
			[]string{ratio(peer), ratio(singleMaster)}))
	}
	t.write(w)
	fmt.Fprintln(w, "× is throughput against theirs in the same round: above 1 is faster")
}

// cells are a row's own figures.
func (r *row) cells() []string {
	return []string{
		spreadOf(r.values(pairMicros)).format(1),
		spreadOf(r.values(func(f figures) float64 { return f.P50 })).format(0),
		spreadOf(r.values(func(f figures) float64 { return f.P99 })).format(0),
		spreadOf(r.values(func(f figures) float64 { return f.Allocs })).format(0),
	}
}

func writeFailures(w io.Writer, rows []*row) {
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
			fmt.Fprintf(w, "%s, %d %s: %d of %d pairs failed, the first with: %s\n",
				row.Contestant, row.Callers, plural(row.Callers, "caller"), failed, pairs+failed, why)
		}
	}
}

func (f *frozenReport) write(w io.Writer) {
	guard := "on"
	if !f.Guard {
		guard = "off: the masters are too young for this TTL, but came up empty for this run and never restart"
	}
	fmt.Fprintf(w, "\n%s, one of five masters frozen, %d callers, TTL %v (restart guard %s): median of %d %s of %v [lowest–highest]\n",
		f.Contestant, f.Callers, f.TTL, guard, len(f.Cycles), plural(len(f.Cycles), "cycle"), f.Window)
	column := func(of func(frozenCycle) float64) string { return spreadOf(f.values(of)).format(0) }
	table{
		{"", "healthy p99 µs", "frozen p99 µs", "ratio"},
		{
			"Lock", column(func(c frozenCycle) float64 { return c.Healthy.LockP99 }),
			column(func(c frozenCycle) float64 { return c.Frozen.LockP99 }), f.lockRatio().format(2),
		},
		{
			"Unlock", column(func(c frozenCycle) float64 { return c.Healthy.UnlockP99 }),
			column(func(c frozenCycle) float64 { return c.Frozen.UnlockP99 }), f.unlockRatio().format(2),
		},
	}.write(w)
	longest := spreadOf(f.values(func(c frozenCycle) float64 { return c.Longest }))
	fmt.Fprintf(w, "longest pair while frozen %s µs; keys left on the master %v after it thawed: %d\n", longest.format(0), thawed, f.left())
	for _, c := range f.Cycles {
		if c.Left > 0 {
			fmt.Fprintf(w, "  left: %s\n", strings.Join(c.Few, ", "))
		}
		if n := c.Healthy.Failed + c.Frozen.Failed; n > 0 {
			fmt.Fprintf(w, "  %d pairs failed: %s %s\n", n, c.Healthy.Failure, c.Frozen.Failure)
		}
	}
}

func writeChecks(w io.Writer, all []verdict) {
	fmt.Fprintln(w)
	t := table{{"check", "target", "got", ""}}
	for _, v := range all {
		word := "ok"
		if !v.OK {
			word = "SHORT"
		}
		t = append(t, []string{v.What, v.Target, v.Got, word})
	}
	t.write(w)
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// format writes the median with decimals places, and the extremes where there is more than one round.
func (s spread) format(decimals int) string {
	f := func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
	if s.Low == s.High {
		return f(s.Median)
	}
	return f(s.Median) + " [" + f(s.Low) + "–" + f(s.High) + "]"
}

// table is rows of cells, the first row their heads; the first column is set left, the others right.
type table [][]string

func (t table) write(w io.Writer) {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t {
		var line strings.Builder
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString("  " + cell + space)
			} else {
				line.WriteString("  " + space + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
