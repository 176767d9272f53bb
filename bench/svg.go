package main

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// A picture is one plot of the report, drawn as SVG: in itself, light or dark as the reader's system is.
type picture struct {
	part, name, title string
	draw              func(*canvas)
	height            float64
}

// The plot's place in the picture; the legend stands to its right.
const (
	pictureWidth                           = 860.0
	pictureHeight                          = 400.0
	plotLeft, plotTop, plotRight, plotFoot = 70.0, 44.0, 650.0, 56.0
)

// pictureStyle is each picture's own: an SVG file stands alone. Colours are told apart with any colour vision (Okabe and
// Ito), and lines by their dashes as well.
const pictureStyle = `<style>
.bg{fill:#fff}.ink{fill:#222}.soft{fill:#667}.grid{stroke:#d8dbe2;stroke-width:1}.axis{stroke:#889;stroke-width:1}
.band{fill:#d55e00;fill-opacity:.13}.edge{stroke:#d55e00;stroke-width:1;stroke-dasharray:3 3}
.l{fill:none;stroke-width:1.8;stroke-linejoin:round}.l.main{stroke-width:3.2}.d.main{stroke-width:3}
.c0{stroke:#0072b2}.c1{stroke:#3aa0e0}.c2{stroke:#d55e00}.c3{stroke:#e69f00}.c4{stroke:#009e73}.c5{stroke:#c0569a}.c6{stroke:#777}
.d.c0{fill:#0072b2}.d.c1{fill:#3aa0e0}.d.c2{fill:#d55e00}.d.c3{fill:#e69f00}.d.c4{fill:#009e73}.d.c5{fill:#c0569a}.d.c6{fill:#777}
text{font:12px system-ui,-apple-system,"Segoe UI",sans-serif}text.t{font-size:15px;font-weight:600}
@media(prefers-color-scheme:dark){.bg{fill:#14171c}.ink{fill:#e8eaee}.soft{fill:#a4acb8}.grid{stroke:#2b3038}.axis{stroke:#687080}
.band{fill:#ff8a3d;fill-opacity:.16}.edge{stroke:#ff8a3d}
.c0{stroke:#4db3ff}.c1{stroke:#9bd5ff}.c2{stroke:#ff8a4c}.c3{stroke:#f2c14e}.c4{stroke:#3ecfa0}.c5{stroke:#ee8fc8}.c6{stroke:#a0a6b0}
.d.c0{fill:#4db3ff}.d.c1{fill:#9bd5ff}.d.c2{fill:#ff8a4c}.d.c3{fill:#f2c14e}.d.c4{fill:#3ecfa0}.d.c5{fill:#ee8fc8}.d.c6{fill:#a0a6b0}}
</style>`

// svg is the picture as a file of its own.
func (p picture) svg() string {
	c := &canvas{height: p.height}
	if c.height == 0 {
		c.height = pictureHeight
	}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-label="%s">`, num(pictureWidth), num(c.height), html.EscapeString(p.title))
	c.add("%s", pictureStyle)
	c.add(`<rect class="bg" width="100%%" height="100%%"/>`)
	c.text(plotLeft, 24, "start", "t ink", p.title)
	p.draw(c)
	c.add("</svg>")
	return c.b.String()
}

// A canvas gathers SVG.
type canvas struct {
	b      strings.Builder
	height float64
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

func (c *canvas) text(x, y float64, anchor, class, text string) {
	c.add(`<text x="%s" y="%s" text-anchor="%s" class="%s">%s</text>`, num(x), num(y), anchor, class, html.EscapeString(text))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.add(`<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

func (c *canvas) dot(class string, x, y, r float64) {
	c.add(`<circle class="d %s" cx="%s" cy="%s" r="%s"/>`, class, num(x), num(y), num(r))
}

func num(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// An axis places values between two ends.
type axis struct {
	label    string
	log      bool
	low, top float64 // of the values
	from, to float64 // of the picture
	say      func(float64) string
	marks    []float64 // where its ticks are; none: at round values
}

// at is where a value is in the picture.
func (a axis) at(v float64) float64 {
	low, top := a.low, a.top
	if a.log {
		v, low, top = math.Log10(max(v, a.low)), math.Log10(low), math.Log10(top)
	}
	if top <= low {
		return a.from
	}
	return a.from + (v-low)/(top-low)*(a.to-a.from)
}

// ticks are about five to ten round values.
func (a axis) ticks() (all []float64) {
	if len(a.marks) > 0 {
		return a.marks
	}
	if a.log {
		steps := []float64{1, 2, 5}
		if a.top/a.low > 3000 {
			steps = []float64{1}
		}
		for decade := math.Pow(10, math.Floor(math.Log10(a.low))); decade <= a.top; decade *= 10 {
			for _, s := range steps {
				if v := s * decade; v >= a.low*0.999 && v <= a.top*1.001 {
					all = append(all, v)
				}
			}
		}
		return all
	}
	step := math.Pow(10, math.Floor(math.Log10((a.top-a.low)/5)))
	for _, times := range []float64{1, 2, 5, 10} {
		if (a.top-a.low)/(times*step) <= 8 {
			step *= times
			break
		}
	}
	for v := math.Ceil(a.low/step) * step; v <= a.top+step/1000; v += step {
		all = append(all, v)
	}
	return all
}

// fit makes the axis as wide as the values, with round ends where it is logarithmic.
func (a *axis) fit(values ...float64) {
	a.low, a.top = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if a.log && v <= 0 {
			continue
		}
		a.low, a.top = min(a.low, v), max(a.top, v)
	}
	if math.IsInf(a.low, 0) {
		a.low, a.top = 1, 10
	}
	if a.log {
		a.low, a.top = roundDown(a.low), roundUp(a.top)
	}
	if a.top <= a.low {
		a.top = a.low + 1
	}
}

func roundDown(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, s := range []float64{5, 2} {
		if v >= s*decade {
			return s * decade
		}
	}
	return decade
}

func roundUp(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, s := range []float64{1, 2, 5} {
		if v <= s*decade {
			return s * decade
		}
	}
	return 10 * decade
}

// grid draws both axes.
func (c *canvas) grid(x, y axis) {
	for _, v := range x.ticks() {
		c.line("grid", x.at(v), y.from, x.at(v), y.to)
		c.text(x.at(v), y.from+18, "middle", "soft", x.say(v))
	}
	for _, v := range y.ticks() {
		c.line("grid", x.from, y.at(v), x.to, y.at(v))
		c.text(x.from-8, y.at(v)+4, "end", "soft", y.say(v))
	}
	c.line("axis", x.from, y.from, x.to, y.from)
	c.text((x.from+x.to)/2, y.from+40, "middle", "ink", x.label)
	c.text(x.from-56, y.to-8, "start", "soft", y.label)
}

// sayMicros writes µs as a person would.
func sayMicros(us float64) string {
	switch {
	case us >= 1e6:
		return num(us/1e6) + " s"
	case us >= 1e3:
		return num(us/1e3) + " ms"
	}
	return num(us) + " µs"
}

// sayCount writes thousands as k.
func sayCount(v float64) string {
	switch {
	case v >= 1e6:
		return num(v/1e6) + "M"
	case v >= 1e3:
		return num(v/1e3) + "k"
	}
	return num(v)
}
