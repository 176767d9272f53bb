package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
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

// Simulated describes schedules in virtual time.
type Simulated struct {
	// From is the first seed, Planned the intended number of schedules, and Schedules the number that ran.
	From               uint64
	Planned, Schedules int
	Wall, Virtual      time.Duration
	Holds, HandedOver  int64
	Commands           int64
	Profiles           map[string]int
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

// Injected returns the number of injections in a history, counted for each target.
func Injected(events []history.Event) int { return len(outages(events)) }

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
	switch {
	case r.Pending || r.Skipped != "":
		return "none"
	case r.NoVerdict != "":
		return "open"
	case len(r.Unkept) > 0:
		return "bad"
	default:
		return "good"
	}
}

// Lost returns how many of how many updates the register lost that accepts every write, or "" if no update was written.
func (r Run) Lost() string {
	var lost, of int
	for _, v := range r.Verdicts {
		for _, f := range v.Figures {
			switch f.What {
			case check.LostByTrusting:
				lost = f.N
			case check.TakenByTrusting:
				of = f.N
			}
		}
	}
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", lost, of)
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
