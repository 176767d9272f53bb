package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redlock-go/redlock/bench/internal/peers"
)

// A chart draws ranges as rows on one logarithmic axis: a dot is a median, and a line reaches from the lowest to the
// highest.
type chart struct {
	Name, title, axis string
	rows              []chartRow
}

type chartRow struct {
	group, name, who string
	spread
}

// charts returns the pictures of the report.
func (r *Report) charts() (all []chart) {
	add := func(c chart) {
		if len(c.rows) > 0 {
			all = append(all, c)
		}
	}
	over := func(part, name string, of func(v float64) float64) (rows []chartRow) {
		for _, in := range r.distinct(part, "", caseOf) {
			for _, who := range r.distinct(part, in, whoOf) {
				if values := slices.Clone(r.Find(part, in, who, name)); len(values) > 0 {
					for i, v := range values {
						values[i] = of(v)
					}
					rows = append(rows, chartRow{in, peers.Label(who), who, spreadOf(values)})
				}
			}
		}
		return rows
	}
	const rounds = " (dot: median round, line: lowest to highest)"
	add(chart{
		"throughput", "Throughput of all callers together", "pairs a second" + rounds,
		over("latency", "µs/pair", func(us float64) float64 { return 1e6 / us }),
	})
	add(chart{
		"contention", "One name wanted by many (processes × goroutines)", "locks a second" + rounds,
		over("contention", "locks/s", func(v float64) float64 { return v }),
	})
	far := chart{
		Name: "wan", title: "Far masters: time to lock",
		axis: "round trips to the third nearest master (dot: median, line: to p99)",
	}
	for _, in := range r.distinct("wan", "", caseOf) {
		for _, who := range r.distinct("wan", in, whoOf) {
			far.rows = append(far.rows, r.range3(in, peers.Label(who), "wan", in, who, "Lock p50", "Lock p50", "Lock p99")...)
		}
	}
	add(far)
	for _, in := range r.distinct("faults", "", caseOf) {
		c := chart{
			Name:  "fault-" + strings.NewReplacer(" for ", "-", " ", "-").Replace(in),
			title: "A master " + in + ", under a steady load",
			axis:  "ms of one lock + unlock (line: p50 to the longest, dot: p99; healthy: p50 to p99)",
		}
		for _, who := range r.distinct("faults", in, whoOf) {
			name := peers.Label(who)
			c.rows = append(c.rows, r.range3(name, "healthy", "faults", in, who, "healthy p50 ms", "healthy p99 ms",
				"healthy p99 ms")...)
			c.rows = append(c.rows, r.range3(name, "meanwhile", "faults", in, who, "p50 ms", "p99 ms", "longest ms")...)
		}
		add(c)
	}
	return all
}

// range3 returns a row from three figures, or none if one is missing.
func (r *Report) range3(group, label, part, in, who string, names ...string) []chartRow {
	var at [3]float64
	for i, name := range names {
		values := r.Find(part, in, who, name)
		if len(values) == 0 {
			return nil
		}
		at[i] = spreadOf(values).Median
	}
	return []chartRow{{group, label, who, spread{at[0], at[1], at[2]}}}
}

// Colors can be distinguished with any color vision (Okabe and Ito).
var colors = map[string]string{
	peers.Redlock: "#0072b2", peers.RedlockNoHandOver: "#3aa0e0", peers.Redsync: "#d55e00",
	peers.RedsyncFailFast: "#e69f00", peers.Redislock: "#009e73", peers.Rueidislock: "#c0569a",
}

const (
	chartWidth, chartLeft, chartTop, rowHeight = 900.0, 370.0, 44.0, 20.0
	chartStyle                                 = `<style>text{font:12px system-ui,sans-serif;fill:#222}.soft{fill:#667}
.bg{fill:#fff}.grid{stroke:#8884}
@media(prefers-color-scheme:dark){.bg{fill:#14171c}text{fill:#e8eaee}.soft{fill:#a4acb8}}
</style>`
)

// SVG returns the chart as a picture that needs no other file, and is light or dark as the reader's system is.
func (c chart) SVG() template.HTML {
	low, high := math.Inf(1), 0.0
	for _, row := range c.rows {
		if row.Low > 0 {
			low = min(low, row.Low)
		}
		high = max(high, row.High)
	}
	low, high = math.Log10(low)-0.05, math.Log10(high)+0.05
	at := func(v float64) float64 {
		return chartLeft + (math.Log10(max(v, math.Pow(10, low)))-low)/(high-low)*(chartWidth-30-chartLeft)
	}
	foot := chartTop + rowHeight*float64(len(c.rows)+1)
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	text := func(x, y float64, anchor, class, s string) {
		add(`<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`, x, y, anchor, class, html.EscapeString(s))
	}
	add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">%s`, chartWidth,
		foot+50, html.EscapeString(c.title), chartStyle)
	add(`<rect class="bg" width="100%%" height="100%%"/>`)
	text(14, 24, "start", "", c.title)
	text(chartWidth-30, foot+40, "end", "soft", c.axis+"; logarithmic")
	for decade := math.Floor(low); decade <= high; decade++ {
		for _, step := range []float64{1, 2, 5} {
			if v := step * math.Pow(10, decade); math.Log10(v) >= low && math.Log10(v) <= high {
				add(`<path class="grid" d="M%.1f %.1fV%.1f"/>`, at(v), chartTop, foot)
				if high-low < 3 || step == 1 {
					text(at(v), foot+18, "middle", "soft", strconv.FormatFloat(v, 'f', -1, 64))
				}
			}
		}
	}
	last := ""
	for i, row := range c.rows {
		y := chartTop + rowHeight*(float64(i)+0.75)
		if row.group != last {
			last = row.group
			text(14, y+4, "start", "", row.group)
			add(`<path class="grid" d="M14 %.1fH%.1f"/>`, y-rowHeight/2, chartWidth-30)
		}
		text(chartLeft-10, y+4, "end", "soft", row.name)
		color := colors[row.who]
		if color == "" {
			color = "#777"
		}
		add(`<g stroke="%s" fill="%s" stroke-width="2"><path d="M%.1f %.1fH%.1f"/><circle cx="%.1f" cy="%.1f" r="4"/></g>`,
			color, color, at(row.Low), y, at(row.High), at(row.Median), y)
	}
	add("</svg>")
	return template.HTML(b.String())
}
