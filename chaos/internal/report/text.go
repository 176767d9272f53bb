package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// mostFindings is the number of findings of one checker that the text shows. The history has all of them.
const mostFindings = 5

// Text writes the verdict of every checker, and the command that repeats the run.
func Text(w io.Writer, run Run) error {
	var b strings.Builder
	begin := beginning(run.Events)
	for _, v := range run.Verdicts {
		line(&b, v.Checker, run.result(v).text, v.Looked)
		if v.Undecided != "" {
			fmt.Fprintf(&b, "    undecided: %s\n", v.Undecided)
		}
		for i, f := range v.Findings {
			if i == mostFindings {
				fmt.Fprintf(&b, "    … and %d more\n", len(v.Findings)-i)
				break
			}
			fmt.Fprintf(&b, "    %s\n", f.Text)
			for _, e := range f.Events {
				fmt.Fprintf(&b, "      %s\n", event(e, begin))
			}
		}
	}
	for _, u := range run.Unseen {
		line(&b, u, "NOT BROKEN", "although the scenario says that these faults break it")
	}
	for _, n := range run.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if begin != 0 {
		fmt.Fprintf(&b, "times count from the first event, at %.6f s on the history's clock\n", begin.Seconds())
	}
	fmt.Fprintf(&b, "seed %d; again: %s\n", run.Seed, run.Replay)
	if run.Folder != "" {
		paths := make([]string, len(run.Files))
		for i, f := range run.Files {
			paths[i] = f.Path
		}
		fmt.Fprintf(&b, "kept in %s: %s\n", run.Folder, strings.Join(paths, ", "))
	}
	if run.Good() {
		b.WriteString("PASS\n")
	} else {
		b.WriteString("FAIL\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func line(b *strings.Builder, what, verdict, text string) {
	fmt.Fprintf(b, "%-15s %-10s %s\n", what, verdict, text)
}

// beginning returns the time of the first event.
func beginning(events []history.Event) time.Duration {
	if len(events) == 0 {
		return 0
	}
	return events[0].T
}

// event returns one line for an event, with times since the start of the run.
func event(e history.Event, begin time.Duration) string {
	text := fmt.Sprintf("%.6f %s", (e.T - begin).Seconds(), e.Kind)
	if e.Client != "" {
		text += fmt.Sprintf(" %s.%d/%d/%d", e.Client, e.Life, e.Worker, e.Op)
	}
	if e.Name != "" {
		text += fmt.Sprintf(" %q", e.Name)
	}
	if e.Mode != "" {
		text += " " + e.Mode
	}
	if e.Owner != "" {
		text += " of " + e.Owner
	}
	if e.Token != "" {
		text += " token " + e.Token
	}
	if e.Fence != 0 {
		text += fmt.Sprintf(" fence %d", e.Fence)
	}
	if e.Register != "" {
		text += fmt.Sprintf(" %s register, %d made of %d", e.Register, e.Value, e.From)
	}
	if e.Until != 0 {
		text += fmt.Sprintf(" until %.6f", (e.Until - begin).Seconds())
	}
	if e.Kind == history.Keys || e.Kind == history.Sockets {
		text += fmt.Sprintf(" at master %d", e.Master)
	}
	if e.Err != "" {
		text += ": " + e.Err
	}
	return text
}
