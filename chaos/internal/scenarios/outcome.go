package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Outcome is the result of a scenario.
type Outcome struct {
	Scenario Scenario
	// Seed is the seed of the command, and Replay the command that repeats the run.
	Seed   uint64
	Replay string
	Took   time.Duration
	// Folder has verdict.txt, the history and the logs.
	Folder string
	// Skipped and NoVerdict say why there is no result; "" if there is one.
	Skipped, NoVerdict string
	Verdicts           []check.Verdict
	// Without has a line for each reason for which faults were left out.
	Without []string
	// Despite has the findings that count although the run has no verdict, a line each, as in Wrong.
	Despite []string
	// Schedules is the number of schedules that the simulation played. Shown describes its violations: how often each
	// occurs, the smallest schedule that still shows it, and the timeline.
	Schedules int
	Shown     string
}

// outcome returns that of a run which has not been played.
func (o Options) outcome(s Scenario) Outcome {
	return Outcome{Scenario: s, Seed: o.Seed, Replay: o.Replay, Folder: o.Dir}
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
			wrong = append(wrong, v.Checker+": "+v.Findings[0].Text)
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
	if o.Scenario.Rare && o.Schedules == 0 {
		return nil
	}
	for _, c := range Columns() {
		if o.Scenario.Promises.of(c) == Broken && len(o.Verdict(c).Findings) == 0 {
			all = append(all, c)
		}
	}
	return all
}

// Verdict returns the verdict of a checker. It is empty if there is none.
func (o Outcome) Verdict(checker string) check.Verdict {
	for _, v := range o.Verdicts {
		if v.Checker == checker {
			return v
		}
	}
	return check.Verdict{}
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
		lasts := c != "" && c != check.ByLiveness || v.Checker == check.ByClients
		if len(v.Findings) > 0 && o.Scenario.promises(v.Checker) && lasts {
			found = append(found, fmt.Sprintf(
				"%s: %s (in a run whose harness broke: %s)", v.Checker, v.Findings[0].Text, o.Folder,
			))
		}
	}
	return found
}

// Failed returns an error if the run has no verdict, because the harness itself failed. A failed client (see
// [check.Clients]) is a verdict on the lock.
func (o Outcome) Failed() error {
	if broke := o.Verdict(check.ByHarness); !broke.Held() && o.Verdict(check.ByClients).Held() {
		return fmt.Errorf("the harness itself failed: %s", broke.Findings[0].Text)
	}
	return nil
}

// mostFindings is the number of findings of one checker that the text shows. The history has all of them.
const mostFindings = 5

// Text has the verdict of every checker, with the events that prove it, and the command that repeats the run.
func (o Outcome) Text(events []history.Event, notes ...string) string {
	var b strings.Builder
	var begin time.Duration
	if len(events) > 0 {
		begin = events[0].T
	}
	for _, v := range o.Verdicts {
		fmt.Fprintf(&b, "%-15s %-10s %s\n", v.Checker, o.result(v), v.Looked)
		for i, f := range v.Findings {
			if i == mostFindings {
				fmt.Fprintf(&b, "    … and %d more\n", len(v.Findings)-i)
				break
			}
			fmt.Fprintf(&b, "    %s\n", f.Text)
			for _, e := range f.Events {
				fmt.Fprintf(&b, "      %s\n", e.Text(begin))
			}
		}
	}
	for _, c := range o.unseen() {
		fmt.Fprintf(&b, "%-15s NOT BROKEN although the scenario says that these faults break it\n", c)
	}
	for _, n := range slices.Concat([]string{o.Scenario.About}, notes, o.Without) {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, c := range Columns() {
		if p := o.Scenario.Promises.of(c); p.conditional() {
			fmt.Fprintf(&b, "note: %s is %s\n", c, p)
		}
	}
	if begin != 0 {
		fmt.Fprintf(&b, "times count from the first event, at %.6f s on the history's clock\n", begin.Seconds())
	}
	fmt.Fprintf(&b, "seed %d; again: %s\n", o.Seed, o.Replay)
	if o.Good() {
		return b.String() + "PASS\n" + o.Shown
	}
	return b.String() + "FAIL\n" + o.Shown
}

// result says in a few words what a verdict means for the run, which does not fail if a check does not hold that the
// scenario does not promise.
func (o Outcome) result(v check.Verdict) string {
	switch {
	case v.Held():
		return "held"
	case o.Scenario.promises(v.Checker):
		return "VIOLATED"
	default:
		return "broken, not promised under these faults"
	}
}
