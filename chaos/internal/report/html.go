package report

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

var (
	//go:embed page.html index.html
	pages embed.FS
	//go:embed page.css
	pageCSS template.CSS
	//go:embed index.css
	indexCSS template.CSS
	//go:embed page.js
	pageJS template.JS

	templates = template.Must(template.New("").
			Funcs(template.FuncMap{"took": took, "percent": percent, "count": count}).ParseFS(pages, "*.html"))
)

// shownFindings is the number of findings of one checker that the page shows. The history has all of them.
const shownFindings = 20

// page is the data of the template.
type page struct {
	Run
	Good    bool
	Summary string
	Rows    []row
	Figures []check.Figure
	Counts  []operations
	// Operations are the titles of Counts.
	Operations []string
	Faults     []faults
	Waits      []bar
	Answers    int
	Data       timeline
	CSS        template.CSS
	JS         template.JS
	JSON       template.JS
	Begin      string // start of the run, by the clock of the history
	Duration   string
}

type row struct {
	Result                              result
	Checker, Promise, Looked, Undecided string
	First                               *finding
	Others                              []finding
	Total, More                         int
}

type finding struct {
	Text, Name string
	Events     []string
	Drawn      bool
	From, To   float64 // the interval to draw
	At         float64 // when the finding shows
	Who        string  // the acquisitions that it concerns, as a JSON list
}

// bar is a bucket with the heights of its two parts.
type bar struct {
	bucket
	AcquiredHeight, RefusedHeight float64
}

// HTML writes a self-contained page: it opens from disk and loads no other file.
func HTML(w io.Writer, run Run) error {
	data := newTimeline(run)
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	p := page{
		Run: run, Good: run.Good(), Data: data, Faults: countFaults(outages(run.Events)), Counts: countOperations(run.Events),
		Operations: operationTitles[:], CSS: pageCSS, JS: pageJS,
		JSON:     template.JS(text), // json.Marshal escapes "<"
		Duration: run.Took.Round(time.Second).String(),
	}
	p.Waits, p.Answers = bars(waits(run.Events))
	c := since(run.Events)
	p.Begin = fmt.Sprintf("%.6f", c.begin.Seconds())
	for _, v := range run.Verdicts {
		p.Rows = append(p.Rows, newRow(run, v, c))
		p.Figures = append(p.Figures, v.Figures...)
	}
	p.Summary = summary(run)
	return templates.ExecuteTemplate(w, "page.html", p)
}

func newRow(run Run, v check.Verdict, c clock) row {
	checker, _ := check.Lookup(v.Checker)
	r := row{
		Checker: v.Checker, Result: run.result(v), Promise: checker.Promise, Looked: v.Looked,
		Undecided: v.Undecided,
		Total:     len(v.Findings), More: max(0, len(v.Findings)-shownFindings),
	}
	if excuse := run.Excused[v.Checker]; excuse != "" && !v.Held() {
		r.Promise += " That is " + excuse + "."
	}
	for _, f := range v.Findings[:len(v.Findings)-r.More] {
		shown := finding{Text: f.Text, Name: f.Name}
		low, high := time.Duration(math.MaxInt64), time.Duration(0)
		var part []string
		for _, e := range f.Events {
			if e.Client == "" { // lanes show no masters
				shown.Events = append(shown.Events, event(e, c))
				continue
			}
			part = append(part, acquisition(e))
			shown.Events = append(shown.Events, event(e, c))
			if e.Kind != history.Invoked { // otherwise a long wait would hide its outcome
				low, high = min(low, e.T), max(high, e.T)
			}
		}
		if low <= high {
			pad := max((high-low)/2, 20*time.Millisecond)
			shown.Drawn, shown.From, shown.To = true, max(0, c.ms(low-pad)), c.ms(high+pad)
			at, _ := moment(f)
			shown.At = c.ms(at)
			who, _ := json.Marshal(part) // strings always have a JSON form
			shown.Who = string(who)
		}
		if r.First == nil {
			r.First = &shown
		} else {
			r.Others = append(r.Others, shown)
		}
	}
	return r
}

// bars scales buckets to a height of 100.
func bars(all []bucket) (out []bar, answers int) {
	most := 1
	for _, b := range all {
		most = max(most, b.Acquired+b.Refused)
		answers += b.Acquired + b.Refused
	}
	for _, b := range all {
		scale := 100 / float64(most)
		out = append(out, bar{b, float64(b.Acquired) * scale, float64(b.Refused) * scale})
	}
	return out, answers
}

// pictureTime bounds the search for porcupine's picture.
const pictureTime = 10 * time.Second

// Save writes the report into the run's folder: report.html, verdict.txt, and linearizability.html with porcupine's
// picture of one name.
func Save(run Run) error {
	var picture strings.Builder
	name, err := check.Picture(&picture, run.Events, pictureTime)
	if err != nil {
		return err
	}
	write := func(file string, content string) error {
		return os.WriteFile(filepath.Join(run.Folder, file), []byte(content), 0o644)
	}
	if name != "" {
		run.Files = append(run.Files[:len(run.Files):len(run.Files)], File{
			Path: "linearizability.html", What: fmt.Sprintf("the order that explains %q, or how far one goes", name),
		})
		if err := write("linearizability.html", framed(picture.String(), run.Name)); err != nil {
			return err
		}
	}
	var html, text strings.Builder
	if err := errors.Join(HTML(&html, run), Text(&text, run)); err != nil {
		return err
	}
	return errors.Join(write("report.html", html.String()), write("verdict.txt", text.String()))
}
