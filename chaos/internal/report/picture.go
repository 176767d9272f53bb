package report

import (
	"html"
	"strings"
)

// pictureStyle gives porcupine's page the colors of the other pages, light and dark, and lets it scroll on a small
// screen.
const pictureStyle = `
:root { color-scheme: light dark; --back: #ffffff; --text: #1c2430; --op: #bfe3f7; --point: #1c2430aa; --link: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --back: #12161c; --text: #e6eaf0; --op: #1d4a66; --point: #e6eaf0aa; --link: #3f9fe0; }
}
body { background: var(--back); color: var(--text); }
nav { font: 15px/1.45 system-ui, sans-serif; padding: 4px 2px; position: sticky; left: 10px; width: fit-content; }
nav a, .link { color: var(--link); fill: var(--link); }
text { fill: var(--text); } text.link { fill: var(--link); }
#legend { position: sticky; width: max-content; background-color: var(--back); }
#legend svg { max-width: calc(100vw - 24px); } #canvas { margin-top: 10px; }
#legend line { stroke: var(--text); } #legend polygon { fill: var(--text); } #legend rect:first-of-type { fill: var(--point); }
.history-rect { fill: var(--op); } .linearization { stroke: var(--point); } .linearization-invalid { stroke: #ff5a64; }
.tooltip { background: var(--back); color: var(--text); }
`

// framed returns porcupine's page with a title, a link back to the report, and the colors of the report.
func framed(page, title string) string {
	title = html.EscapeString(title)
	return strings.NewReplacer(
		"<title>Porcupine</title>", "<title>linearizability · "+title+"</title>",
		"</style>", pictureStyle+"</style>",
		"<body>", `<body><nav><a href="report.html">← report of `+title+`</a></nav>`,
	).Replace(page)
}
