// Package report tells a person how a run ended.
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/redlock-go/redlock/chaos/history"
	"github.com/redlock-go/redlock/chaos/scenarios"
)

// mostFindings is how many findings of one checker are shown; the history has all.
const mostFindings = 5

// Replay returns the one command that runs the same again.
func Replay(o scenarios.Options) string {
	return fmt.Sprintf("go run ./chaos -backend %s -duration %v -clients %d -seed %d", o.Backend, o.Duration, o.Clients, o.Seed)
}

// Text writes the verdict of every checker, what the controls came to, and how to run the same again. folder is where
// histories and logs are kept, empty if they are not.
func Text(w io.Writer, o scenarios.Options, r scenarios.Result, folder string) error {
	var b strings.Builder
	for _, v := range r.Verdicts {
		line(&b, v.Checker, verdict(v.Held(), "held", "VIOLATED"), v.Looked)
		for i, f := range v.Findings {
			if i == mostFindings {
				fmt.Fprintf(&b, "    … and %d more\n", len(v.Findings)-i)
				break
			}
			fmt.Fprintf(&b, "    %s\n", f.Text)
			for _, e := range f.Events {
				fmt.Fprintf(&b, "      %s\n", event(e))
			}
		}
	}
	for _, c := range r.Controls {
		line(&b, "control", verdict(c.Caught, "caught", "NOT CAUGHT"), fmt.Sprintf("%s, by %s: %s", c.Lock, c.Checker, c.Text))
	}
	if history.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", history.Note)
	}
	fmt.Fprintf(&b, "seed %d; again: %s\n", o.Seed, Replay(o))
	if folder != "" {
		fmt.Fprintf(&b, "kept in %s: history.jsonl, control.jsonl, logs/\n", folder)
	}
	b.WriteString(verdict(r.Good(), "PASS\n", "FAIL\n"))
	_, err := io.WriteString(w, b.String())
	return err
}

func line(b *strings.Builder, what, verdict, text string) {
	fmt.Fprintf(b, "%-10s %-10s %s\n", what, verdict, text)
}

func verdict(good bool, yes, no string) string {
	if good {
		return yes
	}
	return no
}

func event(e history.Event) string {
	text := fmt.Sprintf("%.6f %s", e.T.Seconds(), e.Kind)
	if e.Client != "" {
		text += fmt.Sprintf(" %s.%d/%d/%d", e.Client, e.Life, e.Worker, e.Op)
	}
	if e.Name != "" {
		text += fmt.Sprintf(" %q", e.Name)
	}
	if e.Token != "" {
		text += " token " + e.Token
	}
	if e.Until != 0 {
		text += fmt.Sprintf(" until %.6f", e.Until.Seconds())
	}
	if e.Err != "" {
		text += ": " + e.Err
	}
	return text
}
