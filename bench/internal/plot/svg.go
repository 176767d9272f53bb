package plot

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// A Picture is one plot of the report. Its SVG needs no other file, and is light or dark as the reader's system is.
type Picture struct {
	Part, Name, Title string
	Draw              func(*canvas)
	Height            float64
}

// The plot's place in the picture; the legend stands to its right.
const (
	pictureWidth                           = 900.0
	pictureHeight                          = 400.0
	plotLeft, plotTop, plotRight, plotFoot = 70.0, 44.0, 650.0, 56.0
)

// pictureStyle is each picture's own: an SVG file stands alone. Colors can be distinguished with any color vision
// (Okabe and Ito), and lines by their dashes as well.
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

// SVG returns the picture as a file of its own.
func (p Picture) SVG() string {
	c := &canvas{height: p.Height}
	if c.height == 0 {
		c.height = pictureHeight
	}
	c.add(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-label="%s">`, Num(pictureWidth),
		Num(c.height), html.EscapeString(p.Title),
	)
	c.add("%s", pictureStyle)
	c.add(`<rect class="bg" width="100%%" height="100%%"/>`)
	c.text(plotLeft, 24, "start", "t ink", p.Title)
	p.Draw(c)
	c.add("</svg>")
	return c.b.String()
}

// A canvas collects SVG elements.
type canvas struct {
	b      strings.Builder
	height float64
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

func (c *canvas) text(x, y float64, anchor, class, text string) {
	c.add(
		`<text x="%s" y="%s" text-anchor="%s" class="%s">%s</text>`, Num(x), Num(y), anchor, class, html.EscapeString(text),
	)
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.add(`<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, Num(x1), Num(y1), Num(x2), Num(y2))
}

func (c *canvas) dot(class string, x, y, r float64) {
	c.add(`<circle class="d %s" cx="%s" cy="%s" r="%s"/>`, class, Num(x), Num(y), Num(r))
}

// Num formats a number with at most two decimals.
func Num(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// An Axis maps values to positions in the picture.
type Axis struct {
	Label     string
	Log       bool
	Low, High float64 // of the values
	from, to  float64 // of the picture
	Format    func(float64) string
	Ticks     []float64 // where its ticks are; none: at round values
}

// position returns the position of a value in the picture.
func (a Axis) position(v float64) float64 {
	low, top := a.Low, a.High
	if a.Log {
		v, low, top = math.Log10(max(v, a.Low)), math.Log10(low), math.Log10(top)
	}
	if top <= low {
		return a.from
	}
	return a.from + (v-low)/(top-low)*(a.to-a.from)
}

// tickValues returns about five to ten round values.
func (a Axis) tickValues() (all []float64) {
	if len(a.Ticks) > 0 {
		return a.Ticks
	}
	if a.Log {
		steps := []float64{1, 2, 5}
		if a.High/a.Low > 3000 {
			steps = []float64{1}
		}
		for decade := math.Pow(10, math.Floor(math.Log10(a.Low))); decade <= a.High; decade *= 10 {
			for _, s := range steps {
				if v := s * decade; v >= a.Low*0.999 && v <= a.High*1.001 {
					all = append(all, v)
				}
			}
		}
		return all
	}
	step := math.Pow(10, math.Floor(math.Log10((a.High-a.Low)/5)))
	for _, times := range []float64{1, 2, 5, 10} {
		if (a.High-a.Low)/(times*step) <= 8 {
			step *= times
			break
		}
	}
	for v := math.Ceil(a.Low/step) * step; v <= a.High+step/1000; v += step {
		all = append(all, v)
	}
	return all
}

// Fit sets the ends of the axis to the smallest and largest value, rounded outward if it is logarithmic.
func (a *Axis) Fit(values ...float64) {
	a.Low, a.High = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if a.Log && v <= 0 {
			continue
		}
		a.Low, a.High = min(a.Low, v), max(a.High, v)
	}
	if math.IsInf(a.Low, 0) {
		a.Low, a.High = 1, 10
	}
	if a.Log {
		a.Low, a.High = roundDown(a.Low), roundUp(a.High)
	}
	if a.High <= a.Low {
		a.High = a.Low + 1
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
func (c *canvas) grid(x, y Axis) {
	for _, v := range x.tickValues() {
		c.line("grid", x.position(v), y.from, x.position(v), y.to)
		c.text(x.position(v), y.from+18, "middle", "soft", x.Format(v))
	}
	for _, v := range y.tickValues() {
		c.line("grid", x.from, y.position(v), x.to, y.position(v))
		c.text(x.from-8, y.position(v)+4, "end", "soft", y.Format(v))
	}
	c.line("axis", x.from, y.from, x.to, y.from)
	c.text((x.from+x.to)/2, y.from+40, "middle", "ink", x.Label)
	c.text(x.from-56, y.to-8, "start", "soft", y.Label)
}

// FormatMicros formats µs with a fitting unit.
func FormatMicros(us float64) string {
	switch {
	case us >= 1e6:
		return Num(us/1e6) + " s"
	case us >= 1e3:
		return Num(us/1e3) + " ms"
	}
	return Num(us) + " µs"
}

// FormatCount abbreviates thousands as k and millions as M.
func FormatCount(v float64) string {
	switch {
	case v >= 1e6:
		return Num(v/1e6) + "M"
	case v >= 1e3:
		return Num(v/1e3) + "k"
	}
	return Num(v)
}
