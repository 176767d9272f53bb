package report

import (
	"fmt"
	"html"
	"io"
	"strings"
)

const pageStyle = `<style>
:root{color-scheme:light dark;--bg:#fff;--ink:#222;--soft:#5a6270;--rule:#d8dbe2;--short:#b3261e;--link:#0072b2}
@media(prefers-color-scheme:dark){:root{--bg:#14171c;--ink:#e8eaee;--soft:#a4acb8;--rule:#2b3038;--short:#ff8a80;--link:#4db3ff}}
body{margin:0 auto;padding:1.5rem;max-width:1000px;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:1.6rem;margin:.2rem 0}h2{margin:2.4rem 0 .4rem;padding-top:.6rem;border-top:1px solid var(--rule);text-transform:capitalize}
.lead{color:var(--ink);font-size:1.05rem;font-weight:600;margin:.3rem 0}nav{margin:.8rem 0}nav a{color:var(--link);margin-right:1rem;text-transform:capitalize}
@media(max-width:600px){body{padding:.8rem}svg{min-width:680px}}
h3{font-size:1rem;margin:1.6rem 0 .3rem}p,li{color:var(--soft)}svg{display:block;width:100%;height:auto;margin:.8rem 0}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px;white-space:nowrap}
th,td{text-align:right;padding:.25rem .7rem;border-bottom:1px solid var(--rule)}th:first-child,td:first-child{text-align:left;padding-left:0}
th{color:var(--soft);font-weight:600}td.short{color:var(--short);font-weight:700}ul{font-size:13px;padding-left:1.1rem;margin:.4rem 0}
</style>`

// writeHTML writes the report as one page that needs nothing else.
func (r *Report) writeHTML(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "+
			"content=\"width=device-width,initial-scale=1\">\n<title>redlock bench</title>\n%s\n<h1>redlock bench</h1>\n",
		pageStyle,
	)
	for _, line := range r.headline() {
		fmt.Fprintf(&b, "<p class=\"lead\">%s</p>\n", html.EscapeString(line))
	}
	fmt.Fprintf(
		&b, "<p>%s; %s</p>\n<ul>", html.EscapeString(r.machineLine()), r.Setup.Started.Format("2 January 2006, 15:04"),
	)
	for _, c := range r.caveats() {
		fmt.Fprintf(&b, "<li>%s</li>", html.EscapeString(c))
	}
	b.WriteString("</ul>\n")
	writeContents(&b, r.sections())
	part := ""
	for _, s := range r.sections() {
		if s.part != part {
			part = s.part
			fmt.Fprintf(&b, "<h2 id=\"%s\">%s</h2>\n", part, part)
			for _, p := range r.pictures() {
				if p.Part == part {
					fmt.Fprintf(&b, "<div class=\"wide\">%s</div>\n", p.SVG())
				}
			}
		}
		fmt.Fprintf(&b, "<h3>%s</h3>\n", html.EscapeString(s.title))
		s.table.html(&b)
		b.WriteString("<ul>")
		for _, n := range s.notes {
			fmt.Fprintf(&b, "<li>%s</li>", html.EscapeString(n))
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString("</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeContents links to each part of the page.
func writeContents(w io.Writer, sections []section) {
	fmt.Fprint(w, "<nav aria-label=\"Contents\">")
	part := ""
	for _, s := range sections {
		if s.part != part {
			part = s.part
			fmt.Fprintf(w, "<a href=\"#%s\">%s</a> ", part, part)
		}
	}
	fmt.Fprint(w, "</nav>\n")
}
