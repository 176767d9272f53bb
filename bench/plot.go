package main

import (
	"fmt"
	"strings"
)

// A line of a plot.
type plotLine struct {
	name   string
	look   look
	x, y   []float64
	lo, hi []float64 // the spread of each point, or none
	dots   bool
}

// A look is how a contestant is drawn, the same in every picture.
type look struct {
	class string
	dash  string
	main  bool
}

func looksOf(name string) look {
	switch {
	case name == ours:
		return look{class: "c0", main: true}
	case name == oursReleased, name == oursSingle:
		return look{class: "c1"}
	case name == peer:
		return look{class: "c2"}
	case name == peerFailFast:
		return look{class: "c3"}
	case name == singleMaster:
		return look{class: "c4"}
	case name == singleRueidis:
		return look{class: "c5"}
	case name == bottom:
		return look{class: "c6", dash: "5 4"}
	case strings.HasPrefix(name, ours+"-"):
		return look{class: "c1", dash: "2 3"}
	case strings.HasPrefix(name, peer+"-"):
		return look{class: "c2", dash: "2 3"}
	}
	return look{class: "c6"}
}

func (l look) classes() string {
	if l.main {
		return l.class + " main"
	}
	return l.class
}

// A band is a time that is marked.
type band struct {
	from, to float64
	label    string
}

type plot struct {
	x, y  axis
	lines []plotLine
	bands []band
}

// draw draws the plot with its legend.
func (p plot) draw(c *canvas) {
	p.x.from, p.x.to = plotLeft, plotRight
	p.y.from, p.y.to = c.height-plotFoot, plotTop+16
	for _, b := range p.bands {
		from, to := p.x.at(b.from), p.x.at(b.to)
		c.add(`<rect class="band" x="%s" y="%s" width="%s" height="%s"/>`, num(from), num(p.y.to), num(to-from), num(p.y.from-p.y.to))
		c.line("edge", from, p.y.to, from, p.y.from)
		c.line("edge", to, p.y.to, to, p.y.from)
		c.text((from+to)/2, p.y.to+16, "middle", "ink", b.label)
	}
	c.grid(p.x, p.y)
	for i, l := range p.lines {
		p.drawLine(c, l)
		y := p.y.to + 8 + 20*float64(i)
		legend(c, y, l.look, l.name)
	}
}

func legend(c *canvas, y float64, l look, name string) {
	c.add(`<path class="l %s" stroke-dasharray="%s" d="M%s %s h26"/>`, l.classes(), l.dash, num(plotRight+18), num(y))
	c.text(plotRight+52, y+4, "start", "ink", name)
}

// drawLine draws one line; where y is 0 there is nothing to draw, and the line has a gap.
func (p plot) drawLine(c *canvas, l plotLine) {
	var d strings.Builder
	drawing := false
	for i := range l.x {
		if p.y.log && l.y[i] <= 0 {
			drawing = false
			continue
		}
		command := "L"
		if !drawing {
			command = "M"
		}
		drawing = true
		fmt.Fprintf(&d, "%s%s %s", command, num(p.x.at(l.x[i])), num(p.y.at(l.y[i])))
	}
	c.add(`<path class="l %s" stroke-dasharray="%s" d="%s"/>`, l.look.classes(), l.look.dash, d.String())
	for i := range l.x {
		if len(l.lo) > 0 {
			c.line(l.look.class+" l", p.x.at(l.x[i]), p.y.at(l.lo[i]), p.x.at(l.x[i]), p.y.at(l.hi[i]))
		}
		if l.dots || len(l.lo) > 0 {
			c.dot(l.look.classes(), p.x.at(l.x[i]), p.y.at(l.y[i]), 3)
		}
	}
}

// A stretch is one row of a picture of ranges: from a typical value to a bad one.
type stretch struct {
	group, name string
	look        look
	from, to    float64
}

// stretches draws rows under each other, on one axis.
type stretches struct {
	x    axis
	rows []stretch
	mark float64 // a line across all; 0: none
}

const rowHeight, labelWidth = 20.0, 300.0

func (s stretches) height() float64 { return plotTop + 24 + rowHeight*float64(len(s.rows)) + plotFoot }

func (s stretches) draw(c *canvas) {
	s.x.from, s.x.to = plotLeft+labelWidth, pictureWidth-30
	y := axis{from: c.height - plotFoot, to: plotTop + 16}
	for _, v := range s.x.ticks() {
		c.line("grid", s.x.at(v), y.from, s.x.at(v), y.to)
		c.text(s.x.at(v), y.from+18, "middle", "soft", s.x.say(v))
	}
	c.text(s.x.to, y.from+40, "end", "ink", s.x.label)
	if s.mark > 0 {
		c.line("edge", s.x.at(s.mark), y.from, s.x.at(s.mark), y.to)
	}
	last := ""
	for i, r := range s.rows {
		at := y.to + 12 + rowHeight*float64(i)
		if r.group != last {
			c.text(14, at+4, "start", "ink", r.group)
			last = r.group
			if i > 0 {
				c.line("grid", 14, at-rowHeight/2, pictureWidth-30, at-rowHeight/2)
			}
		}
		c.text(plotLeft+labelWidth-10, at+4, "end", "soft", r.name)
		c.line("l "+r.look.classes(), s.x.at(r.from), at, s.x.at(r.to), at)
		c.dot(r.look.classes(), s.x.at(r.from), at, 4)
		if r.to != r.from {
			c.line("l "+r.look.class, s.x.at(r.to), at-5, s.x.at(r.to), at+5)
		}
	}
}
