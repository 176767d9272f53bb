// Package plot draws pictures as SVG.
package plot

import (
	"fmt"
	"strings"
)

// A Line of a plot.
type Line struct {
	Name   string
	Style  Style
	X, Y   []float64
	Lo, Hi []float64 // the spread of each point, or none
	Dots   bool      // mark each point, which is a median
}

// A Style says how a contestant is drawn. It is the same in every picture.
type Style struct {
	Class string
	Dash  string
	Main  bool
}

func (l Style) classes() string {
	if l.Main {
		return l.Class + " main"
	}
	return l.Class
}

// A Band is a marked interval of the x axis.
type Band struct {
	From, To float64
	Label    string
}

// Plot is a picture of lines and bands over two axes.
type Plot struct {
	X, Y  Axis
	Lines []Line
	Bands []Band
}

// Draw draws the plot with its legend.
func (p Plot) Draw(c *canvas) {
	p.X.from, p.X.to = plotLeft, plotRight
	p.Y.from, p.Y.to = c.height-plotFoot, plotTop+16
	for _, b := range p.Bands {
		from, to := p.X.position(b.From), p.X.position(b.To)
		c.add(
			`<rect class="band" x="%s" y="%s" width="%s" height="%s"/>`,
			Num(from),
			Num(p.Y.to),
			Num(to-from),
			Num(p.Y.from-p.Y.to),
		)
		c.line("edge", from, p.Y.to, from, p.Y.from)
		c.line("edge", to, p.Y.to, to, p.Y.from)
		c.text((from+to)/2, p.Y.to+16, "middle", "ink", b.Label)
	}
	c.grid(p.X, p.Y)
	for i, l := range p.Lines {
		p.drawLine(c, l)
		y := p.Y.to + 8 + 20*float64(i)
		legend(c, y, l.Style, l.Name)
	}
}

func legend(c *canvas, y float64, l Style, name string) {
	c.add(`<path class="l %s" stroke-dasharray="%s" d="M%s %s h26"/>`, l.classes(), l.Dash, Num(plotRight+18), Num(y))
	c.text(plotRight+52, y+4, "start", "ink", name)
}

// drawLine draws one line. On a logarithmic axis the line has a gap where y is 0.
func (p Plot) drawLine(c *canvas, l Line) {
	var d strings.Builder
	drawing := false
	for i := range l.X {
		if p.Y.Log && l.Y[i] <= 0 {
			drawing = false
			continue
		}
		command := "L"
		if !drawing {
			command = "M"
		}
		drawing = true
		fmt.Fprintf(&d, "%s%s %s", command, Num(p.X.position(l.X[i])), Num(p.Y.position(l.Y[i])))
	}
	c.add(`<path class="l %s" stroke-dasharray="%s" d="%s"/>`, l.Style.classes(), l.Style.Dash, d.String())
	for i := range l.X {
		if len(l.Lo) > 0 {
			c.line(l.Style.Class+" l", p.X.position(l.X[i]), p.Y.position(l.Lo[i]), p.X.position(l.X[i]), p.Y.position(l.Hi[i]))
		}
		if l.Dots || len(l.Lo) > 0 {
			c.dot(l.Style.classes(), p.X.position(l.X[i]), p.Y.position(l.Y[i]), 3)
		}
	}
}
