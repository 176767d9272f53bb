package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/plot"
)

// pictures are the report's, in the order of its parts.
func (r *Report) pictures() []plot.Picture {
	return slices.Concat(
		r.cdfPictures(), r.throughputPicture(), r.costPictures(), r.wanPicture(), r.contentionPicture(), r.faultPictures(),
	)
}

// drawn are the contestants in pictures of latency: the others differ only in how many masters they have.
var drawn = []string{
	peers.Redlock, peers.RedlockSingle, peers.Redsync, peers.RedsyncFailFast, peers.Redislock, peers.Rueidislock,
	peers.LowerBound,
}

func percent(v float64) string { return plot.Num(100*v) + " %" }

func (r *Report) cdfPictures() (all []plot.Picture) {
	for _, callers := range loadsOf(r.Latency) {
		p := plot.Plot{
			X: plot.Axis{Label: "time of one lock + unlock (logarithmic)", Log: true, Format: plot.FormatMicros},
			Y: plot.Axis{Label: "share of pairs that took no longer", Low: 0, High: 1, Format: percent},
		}
		var values []float64
		for _, name := range drawn {
			row := RowOf(r.Latency, callers, name)
			if row == nil || len(row.CDF) == 0 {
				continue
			}
			line := plot.Line{Name: withMasters(name, row.Masters), Style: styleOf(name)}
			for _, point := range row.CDF {
				line.X, line.Y = append(line.X, point.Micros), append(line.Y, point.Share)
			}
			values = append(values, line.X...)
			p.Lines = append(p.Lines, line)
		}
		p.X.Fit(values...)
		all = append(all, plot.Picture{
			Part: "latency", Name: fmt.Sprintf("latency-%d", callers), Draw: p.Draw,
			Title: fmt.Sprintf("How long a pair takes, %d %s", callers, plural(callers, "caller")),
		})
	}
	return all
}

// withMasters names a contestant and its number of masters. The names redlock-3 and redsync-9 have the number twice.
func withMasters(name string, n int) string {
	return fmt.Sprintf("%s, %d %s", peers.Label(familyOf(name)), n, plural(n, "master"))
}

func (r *Report) throughputPicture() []plot.Picture {
	loads := loadsOf(r.Latency)
	if len(loads) < 2 {
		return nil
	}
	p := plot.Plot{
		X: plot.Axis{Label: "callers (logarithmic)", Log: true, Format: plot.FormatCount},
		Y: plot.Axis{
			Label: "pairs a second of all callers (logarithmic; dot: median round, line: lowest to highest)", Log: true,
			Format: plot.FormatCount,
		},
	}
	var xs, ys []float64
	for _, name := range drawn {
		line := plot.Line{Style: styleOf(name)}
		for _, callers := range loads {
			if row := RowOf(r.Latency, callers, name); row != nil {
				line.Name = withMasters(name, row.Masters)
				s := spreadOf(row.values(func(f load.Figures) float64 { return 1e6 / f.PairMicros }))
				line.X, line.Y = append(line.X, float64(callers)), append(line.Y, s.Median)
				line.Lo, line.Hi = append(line.Lo, s.Low), append(line.Hi, s.High)
			}
		}
		if len(line.X) > 0 {
			p.Lines = append(p.Lines, line)
		}
		xs, ys = append(xs, line.X...), slices.Concat(ys, line.Lo, line.Hi)
	}
	p.X.Fit(xs...)
	p.Y.Fit(ys...)
	return []plot.Picture{{Part: "latency", Name: "throughput", Title: "Throughput against callers", Draw: p.Draw}}
}

func (r *Report) costPictures() (all []plot.Picture) {
	for _, callers := range loadsOf(r.Latency) {
		p := plot.Plot{
			X: plot.Axis{Label: "masters", Low: 0.5, High: 9.5, Ticks: []float64{1, 3, 5, 7, 9}, Format: plot.Num},
			Y: plot.Axis{
				Label: "elapsed time by pairs of all callers (logarithmic; dot: median round, line: lowest to highest)", Log: true,
				Format: plot.FormatMicros,
			},
		}
		lines := map[string]*plot.Line{}
		var order []string
		var values []float64
		rows := slices.Clone(r.Latency)
		slices.SortStableFunc(rows, func(a, b *Row) int { return a.Masters - b.Masters })
		for _, row := range rows {
			if row.Callers != callers || row.Contestant == peers.LowerBound || len(row.Rounds) == 0 {
				continue
			}
			family := familyOf(row.Contestant)
			if lines[family] == nil {
				lines[family] = &plot.Line{Name: peers.Label(family), Style: styleOf(family), Dots: true}
				order = append(order, family)
			}
			l, s := lines[family], spreadOf(row.values(pairMicros))
			l.X, l.Y = append(l.X, float64(row.Masters)), append(l.Y, s.Median)
			l.Lo, l.Hi = append(l.Lo, s.Low), append(l.Hi, s.High)
			values = append(values, s.Low, s.High)
		}
		for _, family := range order {
			p.Lines = append(p.Lines, *lines[family])
		}
		if len(pointsOf(lines[peers.Redlock])) < 2 {
			continue
		}
		p.Y.Fit(values...)
		all = append(all, plot.Picture{
			Part: "latency", Name: fmt.Sprintf("cost-%d", callers), Draw: p.Draw,
			Title: fmt.Sprintf("What more masters cost, %d %s", callers, plural(callers, "caller")),
		})
	}
	return all
}

func pointsOf(l *plot.Line) []float64 {
	if l == nil {
		return nil
	}
	return l.X
}

// familyOf is the contestant without its number of masters.
func familyOf(name string) string {
	for i := len(name) - 1; i > 0; i-- {
		if name[i] == '-' {
			if _, err := strconv.Atoi(name[i+1:]); err == nil {
				return name[:i]
			}
		}
	}
	return name
}

// wanRanges are the times of Lock over far links: a median, and a line to the 99th percentile.
func (r *Report) wanRanges() (all []plot.Range) {
	for _, w := range r.WAN {
		third := load.Micros(w.Profile.Third())
		for _, row := range w.Rows {
			at := func(of func(load.Figures) float64) float64 { return spreadOf(row.values(of)).Median / third }
			all = append(all, plot.Range{
				Group: w.Profile.Name, Style: styleOf(row.Contestant),
				Name: fmt.Sprintf("%s, %d %s", peers.Label(row.Contestant), row.Callers, plural(row.Callers, "caller")),
				Low:  at(lockP50), Median: at(lockP50), High: at(lockP99),
			})
		}
	}
	return all
}

func (r *Report) wanPicture() []plot.Picture {
	s := plot.RangeChart{
		Rows: r.wanRanges(),
		X: plot.Axis{
			Label: "time of Lock in round trips to the third nearest master (logarithmic; dot: median, line: to p99; dashed: " +
				"one round trip)",
			Log: true, Format: plot.Num,
		},
		Mark: 1,
	}
	var values []float64
	for _, row := range s.Rows {
		values = append(values, row.Low, row.High)
	}
	if len(s.Rows) == 0 {
		return nil
	}
	s.X.Fit(append(values, 1)...)
	return []plot.Picture{
		{
			Part: "wan", Name: "wan", Title: "Far masters: time to lock, by profile, client and callers", Draw: s.Draw,
			Height: s.Height(),
		},
	}
}

// contentionRanges are the locks a second of one name: the median round, and a line from the lowest to the highest.
func (r *Report) contentionRanges() (all []plot.Range) {
	for _, row := range r.Contention {
		if len(row.Rounds) == 0 {
			continue
		}
		got := spreadOf(row.values(perSecond))
		all = append(all, plot.Range{
			Group: row.Shape.String(), Name: peers.Label(row.Contestant), Style: styleOf(row.Contestant),
			Low: got.Low, Median: got.Median, High: got.High,
		})
		if row.Masters > 0 {
			all[len(all)-1].Name = withMasters(row.Contestant, row.Masters)
		}
	}
	return all
}

func (r *Report) contentionPicture() []plot.Picture {
	s := plot.RangeChart{
		Rows: r.contentionRanges(),
		X: plot.Axis{
			Label: "locks a second of one name (logarithmic; dot: median round, line: lowest to highest)", Log: true,
			Format: plot.FormatCount,
		},
	}
	var values []float64
	for _, row := range s.Rows {
		values = append(values, row.Low, row.High)
	}
	if len(s.Rows) == 0 {
		return nil
	}
	s.X.Fit(values...)
	return []plot.Picture{
		{
			Part: "contention", Name: "contention", Title: "One name wanted by many (processes × goroutines)", Draw: s.Draw,
			Height: s.Height(),
		},
	}
}

func (r *Report) faultPictures() (all []plot.Picture) {
	seen := map[string]bool{}
	for _, f := range r.Faults {
		if seen[f.Scenario.Name] {
			continue
		}
		seen[f.Scenario.Name] = true
		p := plot.Plot{
			X: plot.Axis{Label: "seconds since the load began", Low: 0, Format: plot.Num},
			Y: plot.Axis{
				Label: "time of one lock + unlock, of those begun in each 0.1 s (logarithmic; a gap: none began)", Log: true,
				Format: plot.FormatMicros,
			},
			Bands: []plot.Band{{From: f.From, To: f.To, Label: f.Scenario.What}},
		}
		var values []float64
		for _, g := range r.Faults {
			if g.Scenario.Name != f.Scenario.Name {
				continue
			}
			for _, l := range linesOf(g) {
				p.Lines = append(p.Lines, l)
				values = append(values, l.Y...)
			}
			p.X.High = max(p.X.High, float64(len(g.Timeline))*load.MomentLength.Seconds())
		}
		p.Y.Fit(values...)
		all = append(
			all,
			plot.Picture{
				Part: "faults", Name: "fault-" + f.Scenario.Name, Draw: p.Draw,
				Title: "A master " + f.Scenario.What + ", under a steady load",
			},
		)
	}
	return all
}

// linesOf are the median, the 99th percentile and the largest of ours; of a peer the median and the largest do.
func linesOf(f *Fault) []plot.Line {
	base := styleOf(f.Contestant)
	line := func(name, dash string, main bool, of func(load.Moment) float64) plot.Line {
		l := plot.Line{
			Name: peers.Label(f.Contestant) + " " + name, Style: plot.Style{Class: base.Class, Dash: dash, Main: main},
		}
		for _, m := range f.Timeline {
			l.X, l.Y = append(l.X, m.At), append(l.Y, of(m))
		}
		return l
	}
	all := []plot.Line{line("p50", "", f.Contestant == peers.Redlock, func(m load.Moment) float64 { return m.P50 })}
	if f.Contestant == peers.Redlock {
		all = append(all, line("p99", "6 3", false, func(m load.Moment) float64 { return m.P99 }))
	}
	return append(all, line("max", "1 3", false, func(m load.Moment) float64 { return m.Max }))
}
