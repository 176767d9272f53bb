package report

import (
	"fmt"
	"html/template"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

// indexPage is the data of the template.
type indexPage struct {
	Index
	Class, Stamp string
	Summary      []string
	Checkers     []string
	Rows         []indexRow
	CSS          template.CSS
}

// Columns returns the number of columns of the table of scenarios.
func (p indexPage) Columns() int { return len(p.Checkers) + 6 }

type indexRow struct {
	Run
	Cells  []cell
	Linked bool // whether its report exists
}

// IndexFile is the name of the index in the folder of a run.
const IndexFile = "index.html"

// SaveIndex writes the index into the folder atomically. A concurrent reader gets the old page or the new one.
func SaveIndex(folder string, x Index) error {
	var b strings.Builder
	if err := IndexHTML(&b, folder, x); err != nil {
		return err
	}
	path := filepath.Join(folder, IndexFile)
	if err := os.WriteFile(path+".new", []byte(b.String()), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// IndexHTML writes a self-contained page with links to the reports that exist in the folder.
func IndexHTML(w io.Writer, folder string, x Index) error {
	p := indexPage{Index: x, CSS: pageCSS + indexCSS, Checkers: x.checkers()}
	p.Class, p.Stamp = x.stamp()
	for _, one := range x.Played {
		r := indexRow{Run: one}
		for _, c := range p.Checkers {
			r.Cells = append(r.Cells, one.cell(c))
		}
		_, err := os.Stat(filepath.Join(folder, one.Folder, "report.html"))
		r.Linked = err == nil
		p.Rows = append(p.Rows, r)
	}
	p.Summary = x.summary()
	return templates.ExecuteTemplate(w, "index.html", p)
}

// checkers returns the checkers that gave a verdict: those of the catalog in its order, then the others.
func (x Index) checkers() []string {
	asked := map[string]bool{}
	for _, p := range x.Played {
		for _, v := range p.Verdicts {
			asked[v.Checker] = true
		}
	}
	var known []string
	for _, c := range check.Catalog() {
		if asked[c.Name] {
			known = append(known, c.Name)
			delete(asked, c.Name)
		}
	}
	return append(known, slices.Sorted(maps.Keys(asked))...)
}

func (x Index) stamp() (class, text string) {
	switch {
	case x.Good():
		return "good", "✓ PASS"
	case x.bad():
		return "bad", "✕ FAIL"
	case x.Ended:
		return "open", "? NO VERDICT"
	default:
		return "open", "… UNFINISHED"
	}
}

// summary returns the most important results.
func (x Index) summary() []string {
	var all []string
	if x.NoVerdict != "" {
		all = append(all, "No verdict: "+x.NoVerdict)
	}
	if !x.Ended {
		all = append(all, "The run has not ended, or was killed: these are the results so far.")
	}
	if n := len(x.Played); n > 0 {
		counts := map[string]int{}
		for _, p := range x.Played {
			counts[p.Result()]++
		}
		var parts []string
		for _, r := range []string{"as promised", "not as promised", "no verdict", "skipped", "not played"} {
			if counts[r] > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", counts[r], r))
			}
		}
		all = append(all, fmt.Sprintf("%s: %s.", plural(n, "scenario"), strings.Join(parts, ", ")))
		var wrong list
		for _, p := range x.Played {
			if p.Class() == "bad" {
				wrong.add(p.Name + " on " + p.Backend)
			}
		}
		all = appendText(all, wrong.after("Not as promised"))
	}
	if n := len(x.controls()); n > 0 {
		var missed list
		for _, c := range x.controls() {
			if !c.Caught {
				missed.add(c.Lock)
			}
		}
		all = append(all, fmt.Sprintf("%s: %d caught.", plural(n, "control"), n-len(missed)))
		all = appendText(all, missed.after("Not caught"))
	}
	for _, s := range x.Simulated {
		all = append(all, fmt.Sprintf("%s: %s.", plural(s.Schedules, "schedule"), plural(len(s.Violations), "violation")))
	}
	return all
}

// appendText appends text unless it is "".
func appendText(all []string, text string) []string {
	if text == "" {
		return all
	}
	return append(all, text)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// took formats a duration for the page.
func took(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < time.Minute:
		return d.Round(time.Second / 10).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	default:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
}

// count formats a large number for the page.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

func percent(n, of int) string {
	if of == 0 {
		return "0"
	}
	return fmt.Sprintf("%.2f", 100*float64(n)/float64(of))
}
