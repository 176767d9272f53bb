package main

import (
	"fmt"
	"slices"
	"strconv"
)

// pictures are the report's, in the order of its parts.
func (r *report) pictures() []picture {
	return slices.Concat(r.cdfPictures(), r.throughputPicture(), r.costPictures(), r.wanPicture(), r.contentionPicture(), r.faultPictures())
}

// drawn are the contestants in pictures of latency: the others differ only in how many masters they have.
var drawn = []string{ours, oursSingle, peer, peerFailFast, singleMaster, singleRueidis, bottom}

func percent(v float64) string { return num(100*v) + " %" }

func (r *report) cdfPictures() (all []picture) {
	for _, callers := range loadsOf(r.Latency) {
		p := plot{
			x: axis{label: "time of lock + unlock (logarithmic)", log: true, say: sayMicros},
			y: axis{label: "share of pairs that took no longer", low: 0, top: 1, say: percent},
		}
		var values []float64
		for _, name := range drawn {
			row := rowOf(r.Latency, callers, name)
			if row == nil || len(row.CDF) == 0 {
				continue
			}
			line := plotLine{name: withMasters(name, row.Masters), look: looksOf(name)}
			for _, point := range row.CDF {
				line.x, line.y = append(line.x, point.Micros), append(line.y, point.Share)
			}
			values = append(values, line.x...)
			p.lines = append(p.lines, line)
		}
		p.x.fit(values...)
		all = append(all, picture{part: "latency", name: fmt.Sprintf("latency-%d", callers), draw: p.draw,
			title: fmt.Sprintf("How long a pair takes, %d %s", callers, plural(callers, "caller"))})
	}
	return all
}

func withMasters(name string, n int) string { return fmt.Sprintf("%s (%d)", name, n) }

func (r *report) throughputPicture() []picture {
	loads := loadsOf(r.Latency)
	if len(loads) < 2 {
		return nil
	}
	p := plot{
		x: axis{label: "callers (logarithmic)", log: true, say: sayCount},
		y: axis{label: "pairs a second (logarithmic; bars: lowest and highest round)", log: true, say: sayCount},
	}
	var xs, ys []float64
	for _, name := range drawn {
		line := plotLine{look: looksOf(name)}
		for _, callers := range loads {
			if row := rowOf(r.Latency, callers, name); row != nil {
				line.name = withMasters(name, row.Masters)
				s := spreadOf(row.values(func(f figures) float64 { return 1e6 / f.PairMicros }))
				line.x, line.y = append(line.x, float64(callers)), append(line.y, s.Median)
				line.lo, line.hi = append(line.lo, s.Low), append(line.hi, s.High)
			}
		}
		if len(line.x) > 0 {
			p.lines = append(p.lines, line)
		}
		xs, ys = append(xs, line.x...), slices.Concat(ys, line.lo, line.hi)
	}
	p.x.fit(xs...)
	p.y.fit(ys...)
	return []picture{{part: "latency", name: "throughput", title: "Throughput against callers", draw: p.draw}}
}

func (r *report) costPictures() (all []picture) {
	for _, callers := range loadsOf(r.Latency) {
		p := plot{
			x: axis{label: "masters", low: 0.5, top: 9.5, marks: []float64{1, 3, 5, 7, 9}, say: num},
			y: axis{label: "time per pair (logarithmic; bars: lowest and highest round)", log: true, say: sayMicros},
		}
		lines := map[string]*plotLine{}
		var order []string
		var values []float64
		rows := slices.Clone(r.Latency)
		slices.SortStableFunc(rows, func(a, b *row) int { return a.Masters - b.Masters })
		for _, row := range rows {
			if row.Callers != callers || row.Contestant == bottom || len(row.Rounds) == 0 {
				continue
			}
			family := familyOf(row.Contestant)
			if lines[family] == nil {
				lines[family] = &plotLine{name: family, look: looksOf(family), dots: true}
				order = append(order, family)
			}
			l, s := lines[family], spreadOf(row.values(pairMicros))
			l.x, l.y = append(l.x, float64(row.Masters)), append(l.y, s.Median)
			l.lo, l.hi = append(l.lo, s.Low), append(l.hi, s.High)
			values = append(values, s.Low, s.High)
		}
		for _, family := range order {
			p.lines = append(p.lines, *lines[family])
		}
		if len(lines[ours].points()) < 2 {
			continue
		}
		p.y.fit(values...)
		all = append(all, picture{part: "latency", name: fmt.Sprintf("cost-%d", callers), draw: p.draw,
			title: fmt.Sprintf("What more masters cost, %d %s", callers, plural(callers, "caller"))})
	}
	return all
}

func (l *plotLine) points() []float64 {
	if l == nil {
		return nil
	}
	return l.x
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

func (r *report) wanPicture() []picture {
	s := stretches{x: axis{label: "Lock: median (dot) to p99 (bar), in third round trips (dashed; logarithmic)", log: true, say: num}, mark: 1}
	var values []float64
	for _, w := range r.WAN {
		third := micros(w.Profile.third())
		for _, row := range w.Rows {
			at := func(of func(figures) float64) float64 { return spreadOf(row.values(of)).Median / third }
			one := stretch{
				group: w.Profile.Name, name: fmt.Sprintf("%s, %d", row.Contestant, row.Callers), look: looksOf(row.Contestant),
				from: at(lockP50), to: at(lockP99),
			}
			s.rows = append(s.rows, one)
			values = append(values, one.from, one.to)
		}
	}
	if len(s.rows) == 0 {
		return nil
	}
	s.x.fit(append(values, 1)...)
	return []picture{{part: "wan", name: "wan", title: "Far masters: time to lock, by profile, client and callers", draw: s.draw, height: s.height()}}
}

func (r *report) contentionPicture() []picture {
	s := stretches{x: axis{label: "locks a second, one name: lowest round (dot) to highest (bar; logarithmic)", log: true, say: sayCount}}
	var values []float64
	for _, row := range r.Contention {
		if len(row.Rounds) == 0 {
			continue
		}
		got := spreadOf(row.values(perSecond))
		s.rows = append(s.rows, stretch{
			group: fmt.Sprintf("%d × %d", row.Shape.Processes, row.Shape.Goroutines),
			name:  withMasters(row.Contestant, row.Masters), look: looksOf(row.Contestant), from: got.Low, to: got.High,
		})
		values = append(values, got.Low, got.High)
	}
	if len(s.rows) == 0 {
		return nil
	}
	s.x.fit(values...)
	return []picture{{part: "contention", name: "contention", title: "One name wanted by many (processes × goroutines)", draw: s.draw, height: s.height()}}
}

func (r *report) faultPictures() (all []picture) {
	seen := map[string]bool{}
	for _, f := range r.Faults {
		if seen[f.Scenario.Name] {
			continue
		}
		seen[f.Scenario.Name] = true
		p := plot{
			x:     axis{label: "seconds", low: 0, say: num},
			y:     axis{label: "pairs begun in each 0.1 s (a gap: none began)", log: true, say: sayMicros},
			bands: []band{{f.From, f.To, f.Scenario.What}},
		}
		var values []float64
		for _, g := range r.Faults {
			if g.Scenario.Name != f.Scenario.Name {
				continue
			}
			for _, l := range linesOf(g) {
				p.lines = append(p.lines, l)
				values = append(values, l.y...)
			}
			p.x.top = max(p.x.top, float64(len(g.Timeline))*momentLength.Seconds())
		}
		p.y.fit(values...)
		all = append(all, picture{part: "faults", name: "fault-" + f.Scenario.Name, draw: p.draw, title: "A master " + f.Scenario.What + ", under a steady load"})
	}
	return all
}

// linesOf are the median, the 99th percentile and the largest of ours; of a peer the median and the largest do.
func linesOf(f *faultReport) []plotLine {
	base := looksOf(f.Contestant)
	line := func(name, dash string, main bool, of func(moment) float64) plotLine {
		l := plotLine{name: f.Contestant + " " + name, look: look{class: base.class, dash: dash, main: main}}
		for _, m := range f.Timeline {
			l.x, l.y = append(l.x, m.At), append(l.y, of(m))
		}
		return l
	}
	all := []plotLine{line("p50", "", f.Contestant == ours, func(m moment) float64 { return m.P50 })}
	if f.Contestant == ours {
		all = append(all, line("p99", "6 3", false, func(m moment) float64 { return m.P99 }))
	}
	return append(all, line("max", "1 3", false, func(m moment) float64 { return m.Max }))
}
