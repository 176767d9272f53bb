package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// These constants bound what the page draws. The page says what it omits.
const (
	mostAttempts = 8000
	mostLanes    = 240
	nearby       = 2 * time.Second // distance from a finding within which attempts are preferred
)

// timeline is the data that the page's script draws. Times are in milliseconds since the start of the run.
type timeline struct {
	End     float64  `json:"end"`
	Masters []target `json:"masters"`
	Clients []target `json:"clients"`
	Phases  []mark   `json:"phases"`
	Groups  []group  `json:"groups"`
	Marks   []mark   `json:"marks"`  // the findings
	Prefix  string   `json:"prefix"` // common prefix of all names, which the page omits
	Left    string   `json:"left"`   // what the page omits, in words
}

// target is a master or a client with its faults.
type target struct {
	Label string      `json:"label"`
	Bands []faultBand `json:"bands"`
}

type faultBand struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Fault string  `json:"fault"`
	Open  bool    `json:"open,omitempty"`
}

// mark is a moment to mark, for one name or for all if Name is "".
type mark struct {
	T    float64 `json:"t"`
	Name string  `json:"name"`
	Text string  `json:"text"`
}

// group is a name with the lanes of the clients that wanted it.
type group struct {
	Name  string `json:"name"`
	Short string `json:"short"` // the name as the page shows it
	Lanes []lane `json:"lanes"`
}

type lane struct {
	Label    string    `json:"label"`
	Client   string    `json:"client"`
	Attempts []attempt `json:"attempts"`
}

type clock struct{ begin time.Duration }

func (c clock) ms(t time.Duration) float64 {
	return float64((t-c.begin)/time.Microsecond) / 1000
}

func since(events []history.Event) clock {
	if len(events) == 0 {
		return clock{}
	}
	return clock{events[0].T}
}

func newTimeline(run Run) timeline {
	c := since(run.Events)
	t := timeline{
		Masters: []target{},
		Clients: []target{},
		Phases:  []mark{},
		Groups:  []group{},
		Marks:   []mark{},
	} // no null in JSON
	if n := len(run.Events); n > 0 {
		t.End = c.ms(run.Events[n-1].T)
	}
	for _, e := range run.Events {
		if e.Kind == history.Phase {
			t.Phases = append(t.Phases, mark{T: c.ms(e.T), Text: e.Phase})
		}
	}
	masters, clients := targets(run.Events, c)
	t.Masters, t.Clients = append(t.Masters, masters...), append(t.Clients, clients...)
	bad := map[history.ID]bool{}
	var moments []float64
	for _, v := range run.Verdicts {
		for _, f := range v.Findings {
			for _, e := range f.Events {
				if e.Client != "" {
					bad[e.ID()] = true
				}
			}
			if at, ok := moment(f); ok {
				moments = append(moments, c.ms(at))
				t.Marks = append(t.Marks, mark{T: c.ms(at), Name: f.Name, Text: v.Checker + ": " + f.Text})
			}
		}
	}
	all := attemptsOf(run.Events, c, bad)
	shown := choose(all, moments)
	t.Groups = append(t.Groups, grouped(shown)...)
	var left []string
	if n := len(all) - len(shown); n > 0 {
		left = append(
			left,
			fmt.Sprintf("%d of %d acquisitions are not drawn: of so many, only the first and those near findings are",
				n, len(all)),
		)
	}
	if n := t.cutLanes(); n > 0 {
		left = append(left, fmt.Sprintf("%d lanes of names without findings are not drawn", n))
	}
	t.Left = strings.Join(left, "; ")
	t.Prefix = shorten(t.Groups)
	return t
}

// moment returns when a finding shows: when its last holder acquired the lock, or otherwise at its last event.
func moment(f check.Finding) (time.Duration, bool) {
	var last, acquired time.Duration
	for _, e := range f.Events {
		last = max(last, e.T)
		if e.Kind == history.Acquired {
			acquired = max(acquired, e.T)
		}
	}
	return cmp.Or(acquired, last), len(f.Events) > 0
}

// targets returns the masters and the clients that occur in the history, with their faults.
func targets(events []history.Event, c clock) (masters, clients []target) {
	lists := map[string]*[]target{"masters": &masters, "clients": &clients}
	grow := func(list *[]target, n int, letter string) {
		for len(*list) <= n {
			*list = append(*list, target{Label: fmt.Sprintf(letter+"%d", len(*list)), Bands: []faultBand{}})
		}
	}
	for _, e := range events {
		if e.Kind == history.Keys || e.Kind == history.Sockets {
			grow(&masters, e.Master, "master ")
		}
		for _, v := range e.Votes {
			grow(&masters, v.Master, "master ")
		}
	}
	for _, b := range outages(events) {
		list := lists[b.On]
		if list == nil || b.Target < 0 {
			continue
		}
		grow(list, b.Target, map[string]string{"masters": "master ", "clients": "c"}[b.On])
		of := &(*list)[b.Target]
		of.Bands = append(of.Bands, faultBand{c.ms(b.From), c.ms(b.To), b.Fault, b.Open})
	}
	return masters, clients
}

// choose returns the attempts to draw, in their order. It prefers those of findings, then those near findings, then the
// earliest.
func choose(all []attempt, moments []float64) []attempt {
	if len(all) <= mostAttempts {
		return all
	}
	slices.Sort(moments)
	near := func(a attempt) bool {
		i, _ := slices.BinarySearch(moments, a.Asked-float64(nearby.Milliseconds()))
		return i < len(moments) && moments[i] <= a.Answer+float64(nearby.Milliseconds())
	}
	take := make([]bool, len(all))
	room := mostAttempts
	for _, want := range []func(attempt) bool{
		func(a attempt) bool { return a.Bad }, near, func(attempt) bool { return true },
	} {
		for i, a := range all {
			if room > 0 && !take[i] && want(a) {
				take[i] = true
				room--
			}
		}
	}
	shown := make([]attempt, 0, mostAttempts)
	for i, a := range all {
		if take[i] {
			shown = append(shown, a)
		}
	}
	return shown
}

// cutLanes omits whole names at the end, and returns how many lanes they had.
func (t *timeline) cutLanes() (left int) {
	n := 0
	for i, g := range t.Groups {
		n += len(g.Lanes)
		if n > mostLanes && i > 0 {
			for _, g := range t.Groups[i:] {
				left += len(g.Lanes)
			}
			t.Groups = t.Groups[:i]
			return left
		}
	}
	return 0
}
