package plot

// A Range is one row of a RangeChart. In every picture a dot is a median and a line reaches from Low to High.
type Range struct {
	Group, Name       string
	Style             Style
	Low, Median, High float64
}

// A RangeChart draws ranges as rows on one axis.
type RangeChart struct {
	X    Axis
	Rows []Range
	Mark float64 // a line across all; 0: none
}

const rowHeight, labelWidth = 20.0, 300.0

// Height returns the height of the picture.
func (s RangeChart) Height() float64 { return plotTop + 24 + rowHeight*float64(len(s.Rows)) + plotFoot }

// Draw draws the chart.
func (s RangeChart) Draw(c *canvas) {
	s.X.from, s.X.to = plotLeft+labelWidth, pictureWidth-30
	y := Axis{from: c.height - plotFoot, to: plotTop + 16}
	for _, v := range s.X.tickValues() {
		c.line("grid", s.X.position(v), y.from, s.X.position(v), y.to)
		c.text(s.X.position(v), y.from+18, "middle", "soft", s.X.Format(v))
	}
	c.text(s.X.to, y.from+40, "end", "ink", s.X.Label)
	if s.Mark > 0 {
		c.line("edge", s.X.position(s.Mark), y.from, s.X.position(s.Mark), y.to)
	}
	last := ""
	for i, r := range s.Rows {
		at := y.to + 12 + rowHeight*float64(i)
		if r.Group != last {
			c.text(14, at+4, "start", "ink", r.Group)
			last = r.Group
			if i > 0 {
				c.line("grid", 14, at-rowHeight/2, pictureWidth-30, at-rowHeight/2)
			}
		}
		c.text(plotLeft+labelWidth-10, at+4, "end", "soft", r.Name)
		c.line("l "+r.Style.classes(), s.X.position(r.Low), at, s.X.position(r.High), at)
		for _, end := range []float64{r.Low, r.High} {
			if end != r.Median {
				c.line("l "+r.Style.Class, s.X.position(end), at-5, s.X.position(end), at+5)
			}
		}
		c.dot(r.Style.classes(), s.X.position(r.Median), at, 4)
	}
}
