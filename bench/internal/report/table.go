package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redlock-go/redlock/bench/internal/machine"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

// A layout says how the tables of a part look.
type layout struct {
	title   string
	columns []string // the figures; none: all
	ratio   string   // the figure that is compared, if any
	against []string // with whose
}

var pairColumns = []string{"µs/pair", "p50 µs", "p99 µs", "allocs/pair"}

var layouts = map[string]layout{
	"latency": {
		"lock + unlock, distinct names", pairColumns, "µs/pair", []string{peers.Redsync, peers.Redislock},
	},
	"kinds": {"lock + unlock, distinct names, five masters", pairColumns, "µs/pair", []string{peers.Mutex}},
	"wan": {
		"far masters, multiples of the round trip to the third nearest",
		[]string{"Lock p50", "Lock p99", "Extend p50", "Extend p99", "Unlock p50", "Unlock p99"},
		"Lock p50",
		[]string{peers.Redsync},
	},
	"contention": {
		"one name, processes × goroutines", nil, "locks/s", []string{peers.Redsync, peers.Rueidislock},
	},
	"slots": {
		"semaphores in four processes", nil, "locks/s", []string{peers.FreeMutexes, peers.RedlockNoHandOver},
	},
	"waiting": {title: "callers of one process that wait for a holder that does nothing"},
	"faults":  {title: "one of five masters fails under a steady load, lock + unlock"},
	"scale":   {title: "held locks with keepalive in one Locker, five masters"},
}

// table is rows of cells, the first row their heads; the first column is set left, the others right.
type table struct {
	Part, Title string
	Rows        [][]string
}

// tables returns the report's tables: one for each case, a row for each contestant, a column for each figure.
func (r *Report) tables() (all []table) {
	for _, part := range r.distinct("", "", partOf) {
		for _, in := range r.distinct(part, "", caseOf) {
			all = append(all, r.table(part, in))
		}
	}
	if len(r.Checks) > 0 {
		t := table{Part: "check", Title: "the project's targets", Rows: [][]string{{"target", "wanted", "got", ""}}}
		for _, v := range r.Checks {
			word := "ok"
			if !v.OK {
				word = fallsShort
			}
			t.Rows = append(t.Rows, []string{v.What, v.Target, v.Got, word})
		}
		all = append(all, t)
	}
	return all
}

func (r *Report) table(part, in string) table {
	l, rounds := layouts[part], 0
	names := slices.DeleteFunc(r.distinct(part, in, nameOf), func(name string) bool {
		return l.columns != nil && !slices.Contains(l.columns, name)
	})
	rows := r.distinct(part, in, whoOf)
	against := slices.DeleteFunc(slices.Clone(l.against), func(base string) bool { return !slices.Contains(rows, base) })
	head := append([]string{""}, names...)
	for _, base := range against {
		head = append(head, "× "+peers.Label(base))
	}
	t := table{Part: part, Rows: [][]string{head}}
	for _, who := range rows {
		cells := []string{peers.Label(who)}
		for _, name := range names {
			values := r.Find(part, in, who, name)
			rounds = max(rounds, len(values))
			cells = append(cells, brief(values))
		}
		for _, base := range against {
			cells = append(cells, brief(r.faster(part, in, who, base)))
		}
		t.Rows = append(t.Rows, cells)
	}
	t.Title = fmt.Sprintf("%s, %s", l.title, in)
	if rounds > 1 {
		t.Title += fmt.Sprintf(": median of %d rounds [lowest–highest]", rounds)
	}
	return t
}

// faster returns how many times as fast one contestant was as another one, round by round, by the figure that the
// part compares. It returns nil if they cannot be compared.
func (r *Report) faster(part, in, who, base string) []float64 {
	name := layouts[part].ratio
	one, other := r.Find(part, in, who, name), r.Find(part, in, base, name)
	if who == base {
		return nil
	}
	if higher, _ := higherIsBetter(name); higher {
		return ratios(one, other)
	}
	return ratios(other, one)
}

// writeTables writes the report for people.
func (r *Report) writeTables(w io.Writer) {
	fmt.Fprintln(w, "redlock bench: "+r.machineLine())
	for _, c := range r.caveats() {
		fmt.Fprintln(w, c)
	}
	for _, t := range r.tables() {
		fmt.Fprintf(w, "\n%s\n", t.Title)
		t.write(w)
	}
	fmt.Fprintln(w, "\n× says how many times as fast as theirs in the same round; 1 is as fast")
	for _, n := range r.Notes {
		fmt.Fprintln(w, n)
	}
}

func (t table) write(w io.Writer) {
	widths := make([]int, len(t.Rows[0]))
	for _, row := range t.Rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.Rows {
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

// brief writes the median with about three digits, and the extremes where there is more than one round.
func brief(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	s, decimals := spreadOf(values), 2
	switch a := math.Abs(s.Median); {
	case a >= 100 || s.Low == s.High && s.Low == math.Trunc(s.Low):
		decimals = 0
	case a >= 10:
		decimals = 1
	}
	f := func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
	if s.Low == s.High {
		return f(s.Median)
	}
	return f(s.Median) + " [" + f(s.Low) + "–" + f(s.High) + "]"
}

// machineLine describes the machine and the software that were measured.
func (r *Report) machineLine() string {
	s := r.Setup
	text := fmt.Sprintf("%s, %d CPUs %s, %s, Redis %s, masters: %s", s.System, s.CPUs, s.CPU, s.Go, s.Redis, s.Where)
	return strings.Join(append([]string{text}, s.Peers...), "; ")
}

// caveats are what one must know before one believes a figure.
func (r *Report) caveats() []string {
	s := r.Setup
	all := []string{fmt.Sprintf("%s (load average before the run %.1f on %d CPUs; CPU time stolen during it %.0f %%)",
		machine.Assess(s.Load, max(1, s.CPUs), s.Steal), s.Load, s.CPUs, 100*s.Steal)}
	if s.Smoke {
		all = append(all, "a smoke run: it shows that everything works, not how fast")
	}
	return all
}
