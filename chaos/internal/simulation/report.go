package simulation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/internal/simnet"
)

// Result is the outcome of a schedule.
type Result struct {
	Schedule Schedule
	// Events is the history. Holds is the number of its acquisitions.
	Events []history.Event
	Holds  int
	// Found is what the checkers found in the history, and then what the run itself found, such as a key that remains.
	Found []Found
	// Took is the duration of the run in the bubble's time. Commands is the number of commands that the masters
	// executed.
	Took     time.Duration
	Commands int
	// Text is the report of an exact run that found something, whose history is elsewhere. Hash identifies everything
	// that happened in an exact run: every event, every command with its time and its reply, and every finding.
	Text, Hash string `json:",omitempty"`

	executed []simnet.Event // the commands that the masters executed
	labels   labels
	start    time.Time
	entries  []Entry
}

// Failed is the result of a schedule that could not be played.
func Failed(s Schedule, err error) *Result {
	return &Result{Schedule: s, Found: []Found{foundAt(0, "host", check.ByHarness, err.Error())}}
}

// Sum computes the Hash.
func (r *Result) Sum() string {
	h := sha256.New()
	for _, c := range r.executed {
		fmt.Fprintln(h, int64(c.At.Sub(r.start)), c.Host, c.Master, strings.Join(c.Args, " "), c.Reply)
	}
	all := json.NewEncoder(h)
	for _, part := range []any{r.Events, r.entries, r.Found} {
		if err := all.Encode(part); err != nil {
			panic("simulation: " + err.Error()) // every value has a JSON form
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// OK reports whether nothing is wrong.
func (r *Result) OK() bool { return len(r.Wrong()) == 0 }

func (h *recorder) result(s Schedule) *Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &Result{
		Schedule: s, Events: h.events, Took: time.Since(h.start), Commands: len(h.commands),
		entries: h.entries, executed: h.commands, labels: h.labels, start: h.start,
	}
	history.Sort(r.Events)
	r.judge()
	r.Found = append(r.Found, h.found...)
	return r
}

// Report describes what went wrong: the schedule, and what happened around the first violation.
func (r *Result) Report() string {
	if r.Text != "" {
		return r.Text
	}
	var b strings.Builder
	b.WriteString(r.Schedule.String())
	fmt.Fprintf(&b, "%d holds, %d commands in %v of virtual time\n", r.Holds, r.Commands, r.Took.Round(time.Millisecond))
	const enough = 5
	wrong := r.Wrong()
	for _, f := range wrong[:min(enough, len(wrong))] {
		b.WriteString(f.String() + "\n")
	}
	if more := len(wrong) - enough; more > 0 {
		fmt.Fprintf(&b, "… and %d more\n", more)
	}
	if from, to, names := r.focus(); to > 0 {
		b.WriteString(r.Timeline(from, to, names))
	}
	return b.String()
}

// most is the maximum number of lines of a timeline. It keeps the last ones.
const most = 250

// focus returns the part of the timeline that leads to the first finding.
func (r *Result) focus() (from, to time.Duration, names []string) {
	before := r.Schedule.MaxTTL() + r.Schedule.Window()
	wrong := r.Wrong()
	switch {
	case len(wrong) == 0:
		return 0, r.Took, r.Schedule.Names
	case len(wrong[0].Events) > 0:
		first, last := wrong[0].Events[0], wrong[0].Events[len(wrong[0].Events)-1]
		return first.T - before, last.T, first.Locked()
	default:
		return wrong[0].At - before, wrong[0].At, r.Schedule.Names
	}
}

// Timeline renders what happened between from and to: faults, holders, and every command about one of names.
func (r *Result) Timeline(from, to time.Duration, names []string) string {
	lines := slices.Clone(r.entries)
	for i, e := range r.executed {
		if slices.ContainsFunc(e.Args, func(a string) bool { return slices.Contains(names, a) }) {
			lines = append(lines, Entry{At: e.At.Sub(r.start), Where: fmt.Sprintf("master %d", e.Master), command: i + 1})
		}
	}
	for _, i := range check.Intervals(r.Events) {
		if h := i.Acquired; slices.ContainsFunc(h.Locked(), func(n string) bool { return slices.Contains(names, n) }) {
			who := fmt.Sprintf("%s.%d.%d", h.Client, h.Life, h.Worker)
			holds := fmt.Sprintf("HOLDS %q as a %s, token %d", h.Name, h.Mode, h.Fence)
			lines = append(lines, Entry{At: i.Begin, Where: who, Text: holds},
				Entry{At: i.End, Where: who, Text: fmt.Sprintf("no longer holds %q", h.Name)})
		}
	}
	slices.SortStableFunc(lines, func(a, b Entry) int { return cmp.Compare(a.At, b.At) })
	all := len(lines)
	lines = slices.DeleteFunc(lines, func(l Entry) bool { return l.At > to })
	after := all - len(lines)
	lines = slices.DeleteFunc(lines, func(l Entry) bool { return l.At < from })
	lines = lines[max(0, len(lines)-most):]

	var b strings.Builder
	fmt.Fprintf(&b, "timeline, its %d lines before and %d after left out:\n", all-after-len(lines), after)
	for _, l := range lines {
		if l.command > 0 {
			l.Text = r.labels.describe(r.executed[l.command-1])
		}
		fmt.Fprintf(&b, "  %12s  %-12s %s\n", stamp(l.At), l.Where, l.Text)
	}
	return b.String()
}

func stamp(d time.Duration) string { return fmt.Sprintf("%.6fs", d.Seconds()) }

// The checkers of a schedule that need no history, in addition to those of package check.
const (
	ByContract = "contract" // calls do what their documentation says
	ByLoad     = "load"     // no client asks all the time
)

// Checkers returns the names of all checkers that judge a schedule. Some findings of the run itself count as theirs.
func Checkers() []string {
	var names []string
	for _, c := range check.Catalog() {
		if !slices.Contains([]string{check.ByLeaks, check.ByCoverage, check.ByClients}, c.Name) {
			names = append(names, c.Name)
		}
	}
	return append(names, ByContract, ByLoad)
}

// Found is what a checker found.
type Found struct {
	By string
	check.Finding
	// At and Where say when and where the run itself found it. Where is "" if events of the history prove it.
	At    time.Duration
	Where string
	// Excused says that the faults break what the checker judges. Then nothing is wrong.
	Excused bool
}

func foundAt(at time.Duration, where, by, text string) Found {
	return Found{By: by, Finding: check.Finding{Text: text}, At: at, Where: where}
}

func (f Found) String() string {
	if f.Where == "" {
		return fmt.Sprintf("VIOLATION (%s): %s", f.By, f.Text)
	}
	return fmt.Sprintf("VIOLATION (%s): %s %s: %s", f.By, stamp(f.At), f.Where, f.Text)
}

// Wrong returns what is not excused.
func (r *Result) Wrong() []Found {
	return slices.DeleteFunc(slices.Clone(r.Found), func(f Found) bool { return f.Excused })
}

// By returns the checkers that found something that is not excused.
func (r *Result) By() (all []string) {
	for _, f := range r.Wrong() {
		if !slices.Contains(all, f.By) {
			all = append(all, f.By)
		}
	}
	return all
}

// Said returns the first finding of a checker that contains a text, "" if there is none.
func (r *Result) Said(by, text string) string {
	for _, f := range r.Wrong() {
		if f.By == by && strings.Contains(f.Text, text) {
			return f.String()
		}
	}
	return ""
}
