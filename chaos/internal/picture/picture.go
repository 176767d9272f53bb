// Package picture draws a history: who held a name, and which masters and clients had faults meanwhile.
package picture

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

//go:embed page.html
var text string

var page = template.Must(template.New("page").Parse(text))

// drawing is the data of the page. Lengths are pixels.
type drawing struct {
	Title, Name   string
	Text          string // what is printed of the run
	Width, Height int
	Lanes         []*lane
	Ticks         []tick
}

// lane is a row: a client's worker, a master, or a client with a fault.
type lane struct {
	Label string
	Y     int
	Bars  []bar
}

// bar is an interval of a lane.
type bar struct {
	X, Width     float64
	Class, Title string // Class is "hold", "wrong" or "fault"
}

type tick struct {
	X    float64
	Text string
}

const (
	left, width, rowHeight = 170, 1200, 22
	ticks                  = 8
)

// Save writes the page of a history into a file. It is self-contained: it opens from disk and loads no other file. It
// shows the name of the first finding, whose holds are marked, or else the name with the most holds. printed is shown
// below the picture.
func Save(file, title, printed string, events []history.Event, findings []check.Finding) error {
	var b strings.Builder
	if err := page.Execute(&b, draw(title, printed, events, findings)); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

func draw(title, printed string, events []history.Event, findings []check.Finding) *drawing {
	d := &drawing{Title: title, Text: printed, Width: left + width}
	if len(events) == 0 {
		return d
	}
	begin := events[0].T
	span := max(1, events[len(events)-1].T-begin)
	at := func(t time.Duration) float64 { return left + width*float64(min(max(0, t-begin), span))/float64(span) }
	add := func(label, class, title string, from, to time.Duration) {
		l := d.lane(label)
		l.Bars = append(l.Bars, bar{at(from), max(1.5, at(to)-at(from)), class, fmt.Sprintf("%s, from %.3f s to %.3f s",
			title, (from - begin).Seconds(), (to - begin).Seconds())})
	}
	for _, o := range check.Outages(events, history.Healthy) {
		add(fmt.Sprintf("%s %d", strings.TrimSuffix(o.On, "s"), o.Target), "fault", o.Fault, o.From, o.To)
	}
	holds := check.Intervals(events)
	name, proof := shown(holds, findings)
	d.Name = name
	for _, h := range holds {
		if !slices.Contains(h.Acquired.Locked(), name) {
			continue
		}
		class := "hold"
		if proof[h.Who] {
			class = "wrong"
		}
		title := cmp.Or(h.Acquired.Mode, "mutex")
		if h.Acquired.Fence > 0 {
			title += fmt.Sprintf(", token %d", h.Acquired.Fence)
		}
		add(fmt.Sprintf("%s.%d, worker %d", h.Who.Client, h.Who.Life, h.Who.Worker), class, title, h.Begin, h.End)
	}
	for i := range ticks + 1 {
		t := span * time.Duration(i) / ticks
		d.Ticks = append(d.Ticks, tick{at(begin + t), fmt.Sprintf("%.2f s", t.Seconds())})
	}
	d.Height = rowHeight * (len(d.Lanes) + 1)
	return d
}

// lane returns the lane with a label, which it adds if there is none.
func (d *drawing) lane(label string) *lane {
	for _, l := range d.Lanes {
		if l.Label == label {
			return l
		}
	}
	l := &lane{Label: label, Y: rowHeight * (len(d.Lanes) + 1)}
	d.Lanes = append(d.Lanes, l)
	return l
}

// shown returns the name that is drawn, and the acquisitions that prove the finding.
func shown(holds []check.Interval, findings []check.Finding) (name string, proof map[history.ID]bool) {
	proof = make(map[history.ID]bool)
	for _, f := range findings {
		if f.Name != "" {
			for _, e := range f.Events {
				proof[e.ID()] = true
			}
			return f.Name, proof
		}
	}
	most := 0
	counts := make(map[string]int)
	for _, h := range holds {
		for _, n := range h.Acquired.Locked() {
			if counts[n]++; counts[n] > most {
				name, most = n, counts[n]
			}
		}
	}
	return name, proof
}
