package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/report"
)

// judged returns a run in which two clients hold a name one after the other, or, if broken is set, at once, while the
// clock of a master jumps.
func judged(broken bool) report.Run {
	const second = time.Second
	at := func(t time.Duration, kind history.Kind, client string) history.Event {
		return history.Event{T: t, Kind: kind, Client: client, Op: 1, Name: "orders:<b>2024</b>", Until: t + 4*second}
	}
	next := 4 * second
	if broken {
		next = 2 * second
	}
	events := []history.Event{
		{T: second / 2, Kind: history.Phase, Phase: history.Storm},
		at(second, history.Invoked, "c0"), at(second, history.Acquired, "c0"),
		{T: 3 * second / 2, Kind: history.Inject, Fault: "clock-jump", On: "masters", Targets: []int{2}},
		at(next, history.Invoked, "c1"), at(next, history.Acquired, "c1"),
		at(3*second, history.ReleaseCalled, "c0"), at(3*second, history.Released, "c0"),
		at(5*second, history.ReleaseCalled, "c1"), at(5*second, history.Released, "c1"),
	}
	history.Sort(events)
	return report.Run{
		Name: "made-up", Backend: "containers", Seed: 17, Replay: "go run ./chaos -scenario made-up -seed 17",
		Verdicts: []check.Verdict{
			check.Exclusion(events), check.Linearizability(events, time.Minute), check.Fencing(events, 5, nil, 0),
			check.Register(events),
		},
		Events: events, Notes: []string{"freezes were left out"},
		Files: []report.File{{Path: "history.jsonl", What: "every event"}, {Path: "logs/"}},
	}
}

func page(t *testing.T, run report.Run) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, report.HTML(&b, run))
	return b.String()
}

// parsed parses the page and checks that every element is closed. It returns the text, and the values of the attributes
// that can refer to a file.
func parsed(t *testing.T, page string) (text string, refers []string) {
	t.Helper()
	bare := regexp.MustCompile(`(?s)(<style[^>]*>).*?(</style>)`).ReplaceAllString(page, "$1$2")
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(bare, "<!DOCTYPE html>")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	depth := 0
	var b strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			depth++
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "href", "src", "action", "data", "poster", "srcset":
					refers = append(refers, a.Value)
				}
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			b.Write(e)
		}
	}
	assert.Zero(t, depth, "every element is closed")
	return b.String(), refers
}

func TestThePageTellsTheRun(t *testing.T) {
	t.Parallel()
	run := judged(true)
	text, refers := parsed(t, page(t, run))
	for _, v := range run.Verdicts {
		assert.Contains(t, text, v.Checker)
		assert.Contains(t, text, v.Looked)
		for _, f := range v.Findings {
			assert.Contains(t, text, f.Text)
		}
	}
	for _, says := range []string{
		"✕ FAIL", "Violated: exclusion, linearizability.", "seed 17", run.Replay, run.Notes[0], "✕ violated", "✓ held",
		"updates that the trusting register lost", "10 events", `1.500000 acquired c1.0/0/1 "orders:<b>2024</b>"`,
	} {
		assert.Contains(t, strings.ReplaceAll(text, "\n", " "), says)
	}
	assert.Equal(t, []string{"history.jsonl", "logs/"}, refers, "it refers to nothing outside")

	text, _ = parsed(t, page(t, judged(false)))
	assert.Contains(t, text, "✓ PASS")
	assert.NotContains(t, text, "✕ violated")
	text, _ = parsed(t, page(t, report.Run{}))
	assert.Contains(t, text, "✕ FAIL")
	assert.Contains(t, text, "Nothing was checked.")
	text, _ = parsed(t, page(t, report.Run{
		Verdicts: []check.Verdict{{Checker: "linearizability", Undecided: "out of time"}},
	}))
	assert.Contains(t, text, "Undecided: out of time")
}

func TestAPageOfManyFindingsSaysHowManyItLeavesOut(t *testing.T) {
	t.Parallel()
	v := check.Verdict{Checker: "exclusion", Findings: make([]check.Finding, 25)}
	text, _ := parsed(t, page(t, report.Run{Verdicts: []check.Verdict{v}}))
	assert.Contains(t, text, "5 more: the history has all.")
}
