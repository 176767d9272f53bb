package report_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/report"
)

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
	bare := regexp.MustCompile(`(?s)(<(?:script|style)[^>]*>).*?(</(?:script|style)>)`).ReplaceAllString(page, "$1$2")
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

// drawn is the data that the page's script draws.
type drawn struct {
	Groups []struct {
		Name  string
		Short string
		Lanes []struct {
			Label    string
			Attempts []struct {
				W string
				X bool
				M []string
				V []string
			}
		}
	}
	Masters []struct{ Bands []struct{ Fault string } }
	Marks   []struct{ Name string }
	Left    string
}

func dataOf(t *testing.T, page string) drawn {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="data">`)
	require.True(t, ok)
	text, _, ok := strings.Cut(rest, "</script>")
	require.True(t, ok)
	assert.NotContains(t, text, "<", "nothing in the data can end the script")
	var d drawn
	require.NoError(t, json.Unmarshal([]byte(text), &d))
	return d
}

func TestThePageTellsTheRun(t *testing.T) {
	t.Parallel()
	run := judged(madeUp(3000, true))
	text, _ := parsed(t, page(t, run))
	for _, v := range run.Verdicts {
		assert.Contains(t, text, v.Checker)
		assert.Contains(t, text, v.Looked)
		for _, f := range v.Findings {
			assert.Contains(t, text, f.Text)
		}
	}
	for _, says := range []string{
		"✕ FAIL", "Violated: exclusion, linearizability.", "seed 17", run.Replay, run.Notes[0], "✕ violated", "✓ held",
		"clock-jump", "updates that the trusting register lost", "3063 events",
	} {
		assert.Contains(t, strings.ReplaceAll(text, "\n", " "), says)
	}
}

func TestThePageOfAGoodRunSaysPass(t *testing.T) {
	t.Parallel()
	text, _ := parsed(t, page(t, judged(madeUp(500, false))))
	assert.Contains(t, text, "✓ PASS")
	assert.NotContains(t, text, "✕ violated")
}

func TestThePageOfNothingIsAPage(t *testing.T) {
	t.Parallel()
	text, _ := parsed(t, page(t, report.Run{}))
	assert.Contains(t, text, "✕ FAIL")
	assert.Contains(t, text, "Nothing was checked.")
}

func TestWhatIsUndecidedStandsOnThePage(t *testing.T) {
	t.Parallel()
	text, _ := parsed(t, page(t, report.Run{
		Verdicts: []check.Verdict{{Checker: "linearizability", Undecided: "out of time"}},
	}))
	assert.Contains(t, text, "Undecided: linearizability.")
	assert.Contains(t, text, "Undecided: out of time")
}

func TestThePageRefersToNothingOutside(t *testing.T) {
	t.Parallel()
	got := page(t, judged(madeUp(3000, true)))
	_, refers := parsed(t, got)
	assert.Equal(t, []string{"history.jsonl", "logs/"}, refers)
	got = strings.ReplaceAll(got, "'http://www.w3.org/2000/svg'", "") // the name of a vocabulary, which is not loaded
	for _, outside := range []string{
		"http:", "https:", "//cdn", "@import", "fetch(", "XMLHttpRequest", "<link", "<iframe",
	} {
		assert.NotContains(t, got, outside)
	}
	for _, url := range regexp.MustCompile(`url\([^)]*`).FindAllString(got, -1) {
		assert.True(t, strings.HasPrefix(url, "url(#"), url)
	}
}

func TestNamesAreTextOnThePage(t *testing.T) {
	t.Parallel()
	const evil = `</script><img src=x onerror=alert(1)>"'` + "`"
	run := judged(madeUp(300, true))
	for i := range run.Events {
		run.Events[i].Name, run.Events[i].Names = evil, nil
	}
	run.Name, run.Replay, run.Backend, run.Notes[0], run.Files[0].What = evil, evil, evil, evil, evil
	run.Verdicts = []check.Verdict{check.Exclusion(run.Events)}
	require.NotEmpty(t, run.Verdicts[0].Findings)
	got := page(t, run)
	assert.NotContains(t, got, "<img")
	assert.Equal(t, evil, dataOf(t, got).Groups[0].Name)
	text, _ := parsed(t, got)
	assert.Contains(t, text, evil)
}

func TestTheTimelineHasVotesModesFaultsAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	run := judged(madeUp(3000, true))
	d := dataOf(t, page(t, run))
	assert.Empty(t, d.Left)
	assert.Len(t, d.Masters, 5)
	assert.NotEmpty(t, d.Masters[0].Bands)
	assert.Equal(t, "orders", d.Groups[0].Name, "what is wrong comes first")
	modes, votes, wrong := map[string]bool{}, 0, 0
	for _, g := range d.Groups {
		for _, l := range g.Lanes {
			for _, a := range l.Attempts {
				votes += len(a.V)
				if a.X {
					wrong++
				}
				for _, m := range a.M {
					modes[m] = true
				}
			}
		}
	}
	assert.Len(t, modes, 5)
	assert.Positive(t, votes)
	assert.Equal(t, 2, wrong, "the two that held at once")
	assert.NotEmpty(t, d.Marks)
}

func TestAPageOfTooMuchLeavesOutAndSaysSo(t *testing.T) {
	t.Parallel()
	events := madeUp(60_000, true)
	run := report.Run{Name: "long", Events: events, Verdicts: []check.Verdict{check.Exclusion(events)}}
	require.NotEmpty(t, run.Verdicts[0].Findings)
	last := run.Verdicts[0].Findings[len(run.Verdicts[0].Findings)-1]
	got := page(t, run)
	assert.Less(t, len(got), 5_000_000)
	d := dataOf(t, got)
	assert.Contains(t, d.Left, "acquisitions are not drawn")
	text, _ := parsed(t, got)
	assert.Contains(t, text, d.Left)
	found := map[string]bool{}
	for _, l := range d.Groups[0].Lanes {
		for _, a := range l.Attempts {
			found[a.W] = a.X
		}
	}
	for _, e := range last.Events {
		who := fmt.Sprintf("%s.%d, worker %d, acquisition %d", e.Client, e.Life, e.Worker, e.Op)
		assert.True(t, found[who], "%s is part of a finding, and drawn", who)
	}
}

func TestARunIsSavedWithItsPicture(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := judged(madeUp(500, true))
	run.Folder = dir
	require.NoError(t, report.Save(run))
	for file, says := range map[string]string{
		"report.html":          `href="linearizability.html"`,
		"verdict.txt":          "kept in " + dir + ": history.jsonl, logs/, linearizability.html",
		"linearizability.html": "acquires",
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		assert.Contains(t, string(text), says, file)
	}
	dir = t.TempDir()
	require.NoError(t, report.Save(report.Run{Folder: dir, Took: time.Second}))
	assert.NoFileExists(t, filepath.Join(dir, "linearizability.html"))
}
