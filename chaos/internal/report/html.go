package report

import (
	"embed"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

var (
	//go:embed page.html index.html
	pages embed.FS
	//go:embed page.css
	pageCSS template.CSS

	templates = template.Must(template.New("").Funcs(template.FuncMap{"took": took}).ParseFS(pages, "*.html"))
)

// shownFindings is the number of findings of one checker that the page shows. The history has all of them.
const shownFindings = 20

// page is the data of the page of a run.
type page struct {
	Run
	Summary string
	Rows    []row
	CSS     template.CSS
}

// row is a verdict on the page.
type row struct {
	check.Verdict
	Result   result
	Promise  string
	Findings []finding
	More     int // findings that are not shown
}

type finding struct {
	Text   string
	Events []string
}

// HTML writes the page of a run. It is self-contained: it opens from disk and loads no other file.
func HTML(w io.Writer, run Run) error {
	p := page{Run: run, Summary: summary(run), CSS: pageCSS}
	begin := beginning(run.Events)
	for _, v := range run.Verdicts {
		checker, _ := check.Lookup(v.Checker)
		r := row{
			Verdict: v, Result: run.result(v), Promise: checker.Promise, More: max(0, len(v.Findings)-shownFindings),
		}
		if excuse := run.Excused[v.Checker]; excuse != "" && !v.Held() {
			r.Promise += " That is " + excuse + "."
		}
		for _, f := range v.Findings[:len(v.Findings)-r.More] {
			shown := finding{Text: f.Text}
			for _, e := range f.Events {
				shown.Events = append(shown.Events, event(e, begin))
			}
			r.Findings = append(r.Findings, shown)
		}
		p.Rows = append(p.Rows, r)
	}
	return templates.ExecuteTemplate(w, "page.html", p)
}

// pictureTime bounds the search for porcupine's picture.
const pictureTime = 10 * time.Second

// Save writes the report into the run's folder: report.html, verdict.txt, and linearizability.html with porcupine's
// picture of one name and of the masters' faults.
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
			Path: "linearizability.html",
			What: fmt.Sprintf("who held %q, which masters had faults, and the order that explains it, if there is one", name),
		})
		if err := write("linearizability.html", framed(picture.String(), run.Name)); err != nil {
			return err
		}
	}
	var page, text strings.Builder
	if err := errors.Join(HTML(&page, run), Text(&text, run)); err != nil {
		return err
	}
	return errors.Join(write("report.html", page.String()), write("verdict.txt", text.String()))
}

// framed returns porcupine's page with a title and a link back to the report.
func framed(page, title string) string {
	title = html.EscapeString(title)
	return strings.NewReplacer(
		"<title>Porcupine</title>", "<title>linearizability · "+title+"</title>",
		"<body>", `<body><nav><a href="report.html">← report of `+title+`</a></nav>`,
	).Replace(page)
}

// indexPage is the data of the index.
type indexPage struct {
	Index
	Class, Stamp string
	Summary      []string
	Checkers     []string
	Rows         []indexRow
	CSS          template.CSS
}

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
	p := indexPage{Index: x, CSS: pageCSS, Checkers: x.checkers(), Summary: x.summary()}
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
	return templates.ExecuteTemplate(w, "index.html", p)
}

// took formats a duration for the pages.
func took(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second / 10).String()
	}
	return d.Round(time.Second).String()
}
