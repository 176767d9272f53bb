package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// Options are how a scenario is played.
type Options struct {
	// Backend is where the masters come from, by name, or backend.Given; then Masters are their URLs.
	Backend string
	Masters []string
	// Seed decides the faults and what the clients draw.
	Seed uint64
	// Schedules is how many the simulation plays, of this seed and those that follow.
	Schedules int
	// Unshrunk: what it finds is not run again, nor made smaller.
	Unshrunk bool
	// Dir is an empty folder for the report, the histories and the logs.
	Dir string
	// Runner is where the clients run.
	Runner traffic.Runner
	// Replay is the command that plays the same again.
	Replay string
	// Say tells a person how the run goes.
	Say func(format string, args ...any)
}

// Outcome is what became of a scenario.
type Outcome struct {
	Scenario Scenario
	Backend  string
	Seed     uint64
	Verdicts []check.Verdict
	// Without are the faults that could not be had here, and why: a line for each reason.
	Without []string
	// Faults is how many were injected, each target by itself.
	Faults int
	// Skipped says why the scenario was not played at all; "" if it was.
	Skipped string
	// Before is what attempts had found whose harness broke: a line each, as in Wrong.
	Before []string
	// OnceMore says why a first attempt had no verdict, and where its folder is; "" if there was none.
	OnceMore string
	// NoVerdict says why there is none although it was played, or begun; "" if there is one.
	NoVerdict string
	Took      time.Duration
	// Dir is where its report is, Replay the command that plays it again.
	Dir, Replay string
	// Schedules is how many the simulation played, and Shown what it found that must not be: how often each finding shows, the
	// smallest schedule that still shows it, and what happened.
	Schedules int
	Shown     string

	where traffic.Runner // the clients ran
}

// Good reports whether everything held that is promised, and what must be seen broken was.
func (o Outcome) Good() bool {
	return o.NoVerdict == "" && len(o.Before) == 0 && (o.Skipped != "" || len(o.Verdicts) > 0 && len(o.Wrong()) == 0)
}

// Wrong returns what is not as promised, a line each.
func (o Outcome) Wrong() []string {
	wrong := slices.Clone(o.Before)
	for _, v := range o.Verdicts {
		if !v.Held() && o.Scenario.promises(v.Checker) {
			wrong = append(wrong, v.Checker+": "+why(v))
		}
	}
	for _, c := range Columns() {
		// by the checker that the column is named after: the others may find something else
		if o.Scenario.Promises.of(c).Promise == report.NotPromised && !slices.Contains(o.foundIn(c), string(c)) {
			wrong = append(wrong, fmt.Sprintf("%s is said not to be promised, and was not seen broken", c))
		}
	}
	return wrong
}

// promises reports whether what a checker looks at is promised. What is in no column always is.
func (s Scenario) promises(checker string) bool {
	c, is := columns[checker]
	p := s.Promises.of(c).Promise
	return !is || p == report.Kept || p == report.KeptGiven
}

// despite returns what was found in a run although its harness broke, a line each. A history that is cut short, or whose
// clients were stopped, makes waits long, and leaves things behind; it lets no two hold at once, makes no token stale, and lets no
// client panic.
func (o Outcome) despite() []string {
	var found []string
	for _, v := range o.Verdicts {
		c := columns[v.Checker]
		lasts := c == Exclusion || c == Fencing || c == LossNotified || v.Checker == clients
		if len(v.Findings) > 0 && o.Scenario.promises(v.Checker) && lasts {
			found = append(found, fmt.Sprintf("%s: %s (in a run whose harness broke: %s)", v.Checker, why(v), o.Dir))
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

// excused are the verdicts that a run may have, and why, as the report shows them.
func (s Scenario) excused() map[string]string {
	all := map[string]string{}
	for checker, c := range columns {
		switch p := s.Promises.of(c); p.Promise {
		case report.NotPromised, report.Open:
			all[checker] = "not promised under these faults"
		}
	}
	return all
}

// Play plays the scenario, and returns what the checkers say. An error means that there is no verdict: the masters could
// not be started, or ctx ended.
func Play(ctx context.Context, s Scenario, o Options) (Outcome, error) {
	out := Outcome{Scenario: s, Backend: o.Backend, Seed: o.Seed, Dir: o.Dir, Replay: o.Replay, where: o.Runner}
	if err := errors.Join(s.check(), o.check()); err != nil {
		return out, err
	}
	began := time.Now()
	masters, err := o.open(ctx, s)
	if err != nil {
		return out, err
	}
	inspector, err := masters.NewInspector()
	if err != nil {
		return out, errors.Join(err, masters.Close())
	}
	events, err := play(ctx, s, o, &out, masters, inspector)
	saveLogs(ctx, o, masters)
	out.Took, out.Faults = time.Since(began), report.Injected(events)
	err = errors.Join(err, inspector.Close(), masters.Close())
	if len(out.Verdicts) == 0 { // it was skipped, or is not worth a report
		return out, err
	}
	return out, errors.Join(err, report.Save(o.Dir, report.Run{
		Title: s.Name, Backend: o.Backend, Seed: o.Seed, Replay: o.Replay, Began: began, Took: out.Took,
		Events: events, Verdicts: out.Verdicts, Excused: s.excused(), Notes: append(out.notes(), masters.Notes()...), Folder: o.Dir,
		Files: []report.File{
			{Path: "history.jsonl", What: "every event, a line each"}, {Path: "logs", What: "what masters and clients have logged"},
		},
	}))
}

// Played is the outcome as the index of a run tells it.
func (o Outcome) Played() report.Played {
	p := report.Played{
		Name: o.Scenario.Name, Backend: o.Backend, Seed: o.Seed, Folder: o.Dir, Replay: o.Replay, Skipped: o.Skipped, NoVerdict: o.NoVerdict,
		OnceMore: o.OnceMore, Took: o.Took, Excused: o.Scenario.excused(), Without: o.Without, Faults: o.Faults,
	}
	for _, v := range o.Verdicts { // an index that is open for hours need not hold the proofs
		v.Findings = slices.Clone(v.Findings)
		for i := range v.Findings {
			v.Findings[i].Events = nil
		}
		p.Verdicts = append(p.Verdicts, v)
	}
	if o.Skipped == "" && o.NoVerdict == "" {
		p.Wrong = o.Wrong()
	}
	return p
}

func (o Outcome) notes() []string {
	notes := []string{o.Scenario.About, fmt.Sprintf("%d client processes, %s", o.Scenario.clients(), o.where)}
	if history.Note != "" {
		notes = append(notes, history.Note)
	}
	for _, c := range Columns() {
		if p := o.Scenario.Promises.of(c); p.Given != "" {
			notes = append(notes, fmt.Sprintf("%s is %s%s", c, p.Promise, p.Given))
		}
	}
	return append(notes, o.Without...)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
