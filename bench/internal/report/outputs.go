package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
)

var errShort = errors.New("a target was missed")

// Outputs say what is done with a report.
type Outputs struct {
	Check                bool   // compare it with the targets
	Save, HTML, Pictures string // files to write; "" leaves one out
}

// Finish compares the report with the targets if Check is set, and writes it. It returns an error if a target was
// missed.
func (o Outputs) Finish(r *Report, out io.Writer) error {
	if o.Check {
		r.Checks = judge(r, r.Setup.Smoke)
	}
	r.writeTables(out)
	if err := o.write(r); err != nil {
		return err
	}
	if short := describeShort(r.Checks); short != "" {
		return fmt.Errorf("%w: %s", errShort, short)
	}
	return nil
}

// write writes the files that were asked for.
func (o Outputs) write(r *Report) error {
	var all []error
	save := func(path string, write func(io.Writer) error) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			all = append(all, err)
			return
		}
		all = append(all, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b.Bytes(), 0o644))
	}
	if o.Save != "" {
		save(o.Save, r.writeJSON)
	}
	if o.HTML != "" {
		save(o.HTML, r.writeHTML)
	}
	if o.Pictures != "" {
		for _, p := range r.charts() {
			save(filepath.Join(o.Pictures, p.Name+".svg"), func(w io.Writer) error {
				_, err := io.WriteString(w, string(p.SVG()))
				return err
			})
		}
	}
	return errors.Join(all...)
}

func (r *Report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

var page = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>redlock bench</title>
<style>
:root{color-scheme:light dark}body{margin:0 auto;padding:1.5rem;max-width:1000px;font:15px/1.5 system-ui,sans-serif}
svg{display:block;width:100%;height:auto;margin:.8rem 0}.wide{overflow-x:auto}h3{font-size:1rem;margin:1.6rem 0 .3rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px;white-space:nowrap}
td{text-align:right;padding:.25rem .7rem;border-bottom:1px solid #8884}td:first-child{text-align:left;padding-left:0}
tr:first-child{font-weight:600}
</style>
<h1>redlock bench</h1>
<p>{{.Machine}}</p><ul>{{range .Caveats}}<li>{{.}}</li>{{end}}</ul>
{{range .Charts}}<div class="wide">{{.SVG}}</div>{{end}}
{{range .Tables}}<h3>{{.Part}}: {{.Title}}</h3>
<div class="wide"><table>{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></div>{{end}}
<ul>{{range .Notes}}<li>{{.}}</li>{{end}}</ul>
</html>
`))

// writeHTML writes the report as one page that needs nothing else.
func (r *Report) writeHTML(w io.Writer) error {
	return page.Execute(w, map[string]any{
		"Machine": r.machineLine() + "; " + r.Setup.Started.Format("2 January 2006, 15:04"),
		"Caveats": r.caveats(), "Charts": r.charts(), "Tables": r.tables(), "Notes": r.Notes,
	})
}
