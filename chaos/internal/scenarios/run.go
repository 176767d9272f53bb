package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// Options of a run of a scenario.
type Options struct {
	// Backend is the name of the backend of the masters. If it is backend.Given, Masters are their URLs.
	Backend string
	Masters []string
	// Seed determines the faults and the random choices of the clients.
	Seed uint64
	// ReplaySeed is the seed in Replay, from which a suite derives Seed. Reports show it. 0: the same as Seed.
	ReplaySeed uint64
	// Schedules is the number of schedules that the simulation plays, of this seed and the following ones.
	Schedules int
	// Exact returns what plays schedules of the simulation exactly, and shrinks those that show a violation. With nil
	// they are only reported. If Order is 0, schedules are played natively, otherwise exactly, in Order and those that
	// follow, Orders in all.
	Exact  func() (simulation.Play, error)
	Order  uint64
	Orders int
	// Dir is an empty folder for the report, the histories and the logs.
	Dir string
	// Runner starts the clients.
	Runner clients.Runner
	// Replay is the command that repeats the run.
	Replay string
	// Index is the path of the page of all runs, to which the report links; "" if there is none.
	Index string
	// Say reports progress to a person.
	Say func(format string, args ...any)

	tolerated time.Duration // the longest stall of the harness; 0: longestStall
}

// Outcome is the result of a scenario.
type Outcome struct {
	report.Run
	Scenario Scenario
	// Despite has the findings that count although the run has no verdict, a line each, as in Wrong.
	Despite []string
	// Schedules is the number of schedules that the simulation played. Shown describes its violations: how often each
	// occurs, the smallest schedule that still shows it, and the timeline.
	Schedules int
	Shown     string
}

// outcome returns that of a run which has not been played.
func (o Options) outcome(s Scenario) Outcome {
	return Outcome{Scenario: s, Run: report.Run{
		Name: s.Name, Backend: o.Backend, Seed: cmp.Or(o.ReplaySeed, o.Seed), Replay: o.Replay, Began: time.Now(),
		Excused: s.excused(), Folder: o.Dir, Index: o.index(),
	}}
}

// Good reports whether every promise held, and whether what must be seen broken was broken.
func (o Outcome) Good() bool {
	return o.NoVerdict == "" && len(o.Despite) == 0 && (o.Skipped != "" || len(o.Verdicts) > 0 && len(o.Wrong()) == 0)
}

// Wrong returns a line for each violation of the promises.
func (o Outcome) Wrong() []string {
	wrong := slices.Clone(o.Despite)
	for _, v := range o.Verdicts {
		if !v.Held() && o.Scenario.promises(v.Checker) {
			wrong = append(wrong, v.Checker+": "+why(v))
		}
	}
	for _, c := range o.unseen() {
		wrong = append(wrong, fmt.Sprintf("%s is said not to be promised, and was not seen broken", c))
	}
	return wrong
}

// unseen returns the columns that the scenario says are broken, and that were not seen broken by the checker that the
// column is named after. The other checkers may find something else.
func (o Outcome) unseen() (all []string) {
	for _, c := range Columns() {
		if o.Scenario.Promises.of(c) == Broken && !slices.Contains(o.foundIn(c), string(c)) {
			all = append(all, string(c))
		}
	}
	return all
}

// promises reports whether the scenario promises that a checker finds nothing. A checker of no column must never find
// anything.
func (s Scenario) promises(checker string) bool {
	c := columnOf(checker)
	p := s.Promises.of(c)
	return c == "" || p == Kept || p.conditional()
}

// despite returns the findings that count although the harness of the run broke, a line each. A history that is cut
// short, or whose clients were stopped, may have long waits and residue. It cannot have too many holders at once,
// stale tokens or panics of clients unless the lock is wrong.
func (o Outcome) despite() []string {
	var found []string
	for _, v := range o.Verdicts {
		c := columnOf(v.Checker)
		lasts := c != "" && c != Liveness || v.Checker == check.ByClients
		if len(v.Findings) > 0 && o.Scenario.promises(v.Checker) && lasts {
			found = append(found, fmt.Sprintf("%s: %s (in a run whose harness broke: %s)", v.Checker, why(v), o.Folder))
		}
	}
	return found
}

func why(v check.Verdict) string {
	if len(v.Findings) > 0 {
		return v.Findings[0].Text
	}
	return "undecided: " + v.Undecided
}

// excused returns the findings that the scenario allows, with the reasons that the report shows.
func (s Scenario) excused() map[string]string {
	all := map[string]string{}
	for _, c := range check.Catalog() {
		if !s.promises(c.Name) {
			all[c.Name] = "not promised under these faults"
		}
	}
	return all
}

// Play plays the scenario and returns the verdicts. An error means that there is no verdict: the masters could not be
// started, or ctx ended.
func Play(ctx context.Context, s Scenario, o Options) (Outcome, error) {
	out := o.outcome(s)
	if err := errors.Join(s.check(), o.check()); err != nil {
		return out, err
	}
	masters, err := o.open(ctx, s)
	if err != nil {
		return out, err
	}
	events, err := play(ctx, s, o, &out, masters)
	out.Took, out.Faults = time.Since(out.Began), len(check.Outages(events, history.Healthy))
	err = errors.Join(err, masters.Close())
	if len(out.Verdicts) == 0 { // it was skipped, or is not worth a report
		return out, err
	}
	out.Unseen = out.unseen()
	run := out.Run // the outcome need not hold the events
	run.Events, run.Notes = events, append(out.notes(o.Runner), masters.Notes()...)
	run.Files = []report.File{
		{Path: "history.jsonl", What: "every event, a line each"},
		{Path: "logs", What: "what masters and clients have logged"},
	}
	return out, errors.Join(err, report.Save(run))
}

// index returns the page of all runs as a link from the report.
func (o Options) index() string {
	if o.Index == "" {
		return ""
	}
	path, err := filepath.Rel(o.Dir, o.Index)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(path)
}

// Played returns the outcome's entry in the index of a run.
func (o Outcome) Played() report.Run {
	p := o.Run
	p.Verdicts = nil
	for _, v := range o.Verdicts { // an index that is open for hours need not hold the proofs
		v.Findings = slices.Clone(v.Findings)
		for i := range v.Findings {
			v.Findings[i].Events = nil
		}
		p.Verdicts = append(p.Verdicts, v)
	}
	if o.Skipped == "" && o.NoVerdict == "" {
		p.Unkept = o.Wrong()
	}
	return p
}

func (o Outcome) notes(where clients.Runner) []string {
	notes := []string{o.Scenario.About, fmt.Sprintf("%d client processes, %s", o.Scenario.Clients, where)}
	if history.Note != "" {
		notes = append(notes, history.Note)
	}
	for _, c := range Columns() {
		if p := o.Scenario.Promises.of(c); p.conditional() {
			notes = append(notes, fmt.Sprintf("%s is %s", c, p))
		}
	}
	return append(notes, o.Without...)
}
