package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/bench/internal/machine"
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
		r.latencySections(), r.kindSections(), r.wanSections(), r.contentionSections(), r.waitingSections(),
		r.slotSections(),
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
