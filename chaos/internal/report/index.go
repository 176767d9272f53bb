package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

// Index describes all runs of one command so far.
type Index struct {
	// Replay is the command that repeats all of them.
	Replay string
	Seed   uint64
	// Commit is the commit that was tested, or "" if it is unknown.
	Commit string
	Began  time.Time
	Took   time.Duration
	// Ended says that the command has ended. Until then the page shows the results so far.
	Ended bool
	// NoVerdict says why there is no verdict, or "" if there is one.
	NoVerdict string
	// Played are the runs, without their events.
	Played    []Run
	Controls  []Controls
	Simulated []Simulated
}

// Controls are the results of controls that were tried in one way.
type Controls struct {
	Title, About string
	All          []Control
}

// Caught returns the number of controls that were caught.
func (c Controls) Caught() (n int) {
	for _, one := range c.All {
		if one.Caught {
			n++
		}
	}
	return n
}

// Control is the result of a control: a lock or a run that is broken on purpose.
type Control struct {
	// Lock is its name, and Checker the checker that must catch it.
	Lock, Checker string
	// Caught reports whether the checker caught it.
	Caught bool
	// Text is the finding, or the reason why the control does not count as caught.
	Text string
	// After is how long that took. Schedules is the number of schedules that it took in the simulation.
	After     time.Duration
	Schedules int
	// Replay is the command that repeats the control, and Where says where to look at it.
	Replay, Where string
}

// Of returns the control with a verdict: it is caught if the checker found something.
func (c Control) Of(v check.Verdict) Control {
	c.Caught, c.Text = len(v.Findings) > 0, "nothing found"
	switch {
	case c.Caught:
		c.Text = v.Findings[0].Text
	case v.Looked != "":
		c.Text += ": " + v.Looked
	}
	return c
}

// Simulated describes schedules in virtual time.
type Simulated struct {
	// From is the first seed, Planned the intended number of schedules, and Schedules the number that ran.
	From               uint64
	Planned, Schedules int
	Wall, Virtual      time.Duration
	Holds, HandedOver  int64
	Commands           int64
	Violations         []Violation
	// NoVerdict says why the schedules prove nothing, or "" if they do.
	NoVerdict string
}

// Violation is a schedule in which a checker found something.
type Violation struct {
	Seed     uint64
	By, Text string
	// File is the path of the full report, relative to the index. Replay is the command that repeats the schedule.
	File, Replay string
}

// Result returns the result in a few words.
func (r Run) Result() string {
	switch {
	case r.Pending:
		return "not played"
	case r.Skipped != "":
		return "skipped"
	case r.NoVerdict != "":
		return "no verdict"
	case len(r.Unkept) > 0:
		return "not as promised"
	default:
		return "as promised"
	}
}

// Class returns the style of the result: good, bad, open or none.
func (r Run) Class() string {
	return map[string]string{
		"as promised": "good", "not as promised": "bad", "no verdict": "open", "skipped": "none", "not played": "none",
	}[r.Result()]
}

// cell shows the verdict of one checker on one scenario.
type cell struct{ Class, Sign, Title string }

func (r Run) cell(checker string) cell {
	i := slices.IndexFunc(r.Verdicts, func(v check.Verdict) bool { return v.Checker == checker })
	if i < 0 {
		return cell{"none", "", checker + " was not asked"}
	}
	v := r.Verdicts[i]
	is := r.result(v)
	title := checker + ": " + is.text
	if len(v.Findings) > 0 {
		title += ": " + v.Findings[0].Text
	}
	return cell{is.Class, is.Sign, title}
}

// controls returns all controls.
func (x Index) controls() (all []Control) {
	for _, c := range x.Controls {
		all = append(all, c.All...)
	}
	return all
}

// Good reports whether everything has run, all promises were kept, and every control was caught.
func (x Index) Good() bool { return x.Ended && !x.open() && !x.nothing() && !x.bad() }

// nothing reports whether no scenario, control or schedule has run.
func (x Index) nothing() bool {
	return !slices.ContainsFunc(x.Played, func(p Run) bool { return p.Class() == "good" || p.Class() == "bad" }) &&
		len(x.controls())+len(x.Simulated) == 0
}

// open reports whether anything lacks a verdict.
func (x Index) open() bool {
	return x.NoVerdict != "" ||
		slices.ContainsFunc(x.Played, func(p Run) bool { return p.Pending || p.NoVerdict != "" }) ||
		slices.ContainsFunc(x.Simulated, func(s Simulated) bool { return s.NoVerdict != "" })
}

// bad reports whether anything has failed so far.
func (x Index) bad() bool {
	missed := func(c Control) bool { return !c.Caught }
	return slices.ContainsFunc(x.Played, func(p Run) bool { return p.Class() == "bad" }) ||
		slices.ContainsFunc(x.controls(), missed) ||
		slices.ContainsFunc(x.Simulated, func(s Simulated) bool { return len(s.Violations) > 0 })
}

// checkers returns the checkers that gave a verdict: those of the catalog in its order, then the others.
func (x Index) checkers() []string {
	asked := map[string]bool{}
	for _, p := range x.Played {
		for _, v := range p.Verdicts {
			asked[v.Checker] = true
		}
	}
	var known []string
	for _, c := range check.Catalog() {
		if asked[c.Name] {
			known = append(known, c.Name)
			delete(asked, c.Name)
		}
	}
	return append(known, slices.Sorted(maps.Keys(asked))...)
}

func (x Index) stamp() (class, text string) {
	switch {
	case x.Good():
		return "good", "✓ PASS"
	case x.bad():
		return "bad", "✕ FAIL"
	case x.Ended:
		return "open", "? NO VERDICT"
	default:
		return "open", "… UNFINISHED"
	}
}

// summary returns the most important results.
func (x Index) summary() []string {
	var all []string
	if x.NoVerdict != "" {
		all = append(all, "No verdict: "+x.NoVerdict)
	}
	if !x.Ended {
		all = append(all, "The run has not ended, or was killed: these are the results so far.")
	}
	if n := len(x.Played); n > 0 {
		counts := map[string]int{}
		for _, p := range x.Played {
			counts[p.Result()]++
		}
		var parts []string
		for _, r := range []string{"as promised", "not as promised", "no verdict", "skipped", "not played"} {
			if counts[r] > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", counts[r], r))
			}
		}
		all = append(all, fmt.Sprintf("%s: %s.", plural(n, "scenario"), strings.Join(parts, ", ")))
		var wrong list
		for _, p := range x.Played {
			if p.Class() == "bad" {
				wrong.add(p.Name + " on " + p.Backend)
			}
		}
		all = appendText(all, wrong.after("Not as promised"))
	}
	if n := len(x.controls()); n > 0 {
		var missed list
		for _, c := range x.controls() {
			if !c.Caught {
				missed.add(c.Lock)
			}
		}
		all = append(all, fmt.Sprintf("%s: %d caught.", plural(n, "control"), n-len(missed)))
		all = appendText(all, missed.after("Not caught"))
	}
	for _, s := range x.Simulated {
		all = append(all, fmt.Sprintf("%s: %s.", plural(s.Schedules, "schedule"), plural(len(s.Violations), "violation")))
	}
	return all
}

// appendText appends text unless it is "".
func appendText(all []string, text string) []string {
	if text == "" {
		return all
	}
	return append(all, text)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
