package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Index is all that one command ran, as far as it has come.
type Index struct {
	// Replay is the one command that runs all of it again.
	Replay string
	Seed   uint64
	// Commit is what was run, "" if that is not known.
	Commit string
	Began  time.Time
	Took   time.Duration
	// Ended: it has come to its end. Until then the page tells what there is so far.
	Ended bool
	// NoVerdict says why there is none, "" if there is one.
	NoVerdict string
	Played    []Played
	// Naive, Own and Virtual are the locks that are broken on purpose: those that were once published, our own on real
	// masters, and our own in the simulation.
	Naive, Own, Virtual []Control
	Simulated           []Simulated
}

// Played is a scenario that was played, or will be.
type Played struct {
	Name, Backend string
	Seed          uint64
	// Folder has its report, below that of the index.
	Folder string
	// Replay plays it again.
	Replay string
	// Pending: nobody knows yet. Skipped and NoVerdict say why nobody ever will.
	Pending            bool
	Skipped, NoVerdict string
	Took               time.Duration
	Verdicts           []check.Verdict
	Excused            map[string]string // see Run
	// OnceMore says why this was the second attempt, "" if it was the first.
	OnceMore string
	// Wrong is what is not as promised, Without the faults that could not be had.
	Wrong, Without []string
	// Faults is how many were injected, each target by itself.
	Faults int
}

// Simulated are schedules in virtual time.
type Simulated struct {
	// From is the first seed, Planned how many schedules there were to be, and Schedules how many there were.
	From               uint64
	Planned, Schedules int
	Wall, Virtual      time.Duration
	Holds, HandedOver  int64
	Commands           int64
	Profiles           map[string]int
	Violations         []Violation
	// NoVerdict says why the schedules show nothing, "" if they do.
	NoVerdict string
}

// Violation is a schedule that showed what must not be.
type Violation struct {
	Seed     uint64
	By, Text string
	// File has all of it, beside the index; Replay runs the schedule again.
	File, Replay string
}

// Injected is how many faults a history has, each target by itself.
func Injected(events []history.Event) int { return len(bands(events)) }

// Result is a word for how it went, and Class how that looks.
func (p Played) Result() string {
	switch {
	case p.Pending:
		return "not played"
	case p.Skipped != "":
		return "skipped"
	case p.NoVerdict != "":
		return "no verdict"
	case len(p.Wrong) > 0:
		return "not as promised"
	default:
		return "as promised"
	}
}

// Class is one of good, bad, open and none.
func (p Played) Class() string {
	switch {
	case p.Pending || p.Skipped != "":
		return "none"
	case p.NoVerdict != "":
		return "open"
	case len(p.Wrong) > 0:
		return "bad"
	default:
		return "good"
	}
}

// Lost is how many updates the register lost that trusts whoever comes, of how many; "" if it was not written to.
func (p Played) Lost() string {
	var lost, of int
	for _, v := range p.Verdicts {
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

// cell is what one checker said of one scenario.
type cell struct{ Class, Sign, Title string }

func (p Played) cell(checker string) cell {
	i := slices.IndexFunc(p.Verdicts, func(v check.Verdict) bool { return v.Checker == checker })
	if i < 0 {
		return cell{"none", "", checker + " was not asked"}
	}
	v := p.Verdicts[i]
	r := resultOf(v, p.Excused[checker])
	title := checker + ": " + r.text
	if len(v.Findings) > 0 {
		title += ": " + v.Findings[0].Text
	}
	return cell{r.Class, r.Sign, title}
}

// controls are all of them.
func (x Index) controls() []Control { return slices.Concat(x.Naive, x.Own, x.Virtual) }

// Good reports whether all of it is done, as promised, and every control was caught.
func (x Index) Good() bool { return x.Ended && !x.open() && !x.nothing() && !x.bad() }

// nothing reports whether nothing was run.
func (x Index) nothing() bool {
	return !slices.ContainsFunc(x.Played, func(p Played) bool { return p.Class() == "good" || p.Class() == "bad" }) &&
		len(x.controls())+len(x.Simulated) == 0
}

// open reports whether something has no verdict.
func (x Index) open() bool {
	return x.NoVerdict != "" ||
		slices.ContainsFunc(x.Played, func(p Played) bool { return p.Pending || p.NoVerdict != "" }) ||
		slices.ContainsFunc(x.Simulated, func(s Simulated) bool { return s.NoVerdict != "" })
}

// bad reports whether something has failed, whatever is still to come.
func (x Index) bad() bool {
	missed := func(c Control) bool { return !c.Caught }
	return slices.ContainsFunc(x.Played, func(p Played) bool { return p.Class() == "bad" }) ||
		slices.ContainsFunc(x.controls(), missed) ||
		slices.ContainsFunc(x.Simulated, func(s Simulated) bool { return len(s.Violations) > 0 })
}
