package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// WAN holds the figures of one profile.
type WAN struct {
	Profile  WANProfile       `json:"profile"`
	Rows     []*Row           `json:"rows"`
	HandOver []*ContentionRow `json:"hand_over"` // one name, wanted by a few goroutines of two processes
}

// Row returns the row of a contestant, or nil if there is none.
func (w *WAN) Row(callers int, name string) *Row {
	if w == nil {
		return nil
	}
	return RowOf(w.Rows, callers, name)
}

// A WANProfile says how far away the five masters are: the round trip to each.
type WANProfile struct {
	Name   string          `json:"name"`
	Trips  []time.Duration `json:"round_trips_ns"`
	Jitter float64         `json:"jitter,omitempty"` // each direction takes up to this share longer
	Lossy  int             `json:"lossy,omitempty"`  // which master is behind a link that loses segments, from 1; 0: none
	Loss   float64         `json:"loss,omitempty"`   // which share of them
}

// FiveContinents is the name of the profile with masters on five continents.
const FiveContinents = "five-continents"

// Third is the round trip to the third nearest master, which a majority of five needs.
func (p WANProfile) Third() time.Duration {
	return slices.Sorted(slices.Values(p.Trips))[len(p.Trips)/2]
}

func (p WANProfile) String() string {
	var trips []string
	for _, t := range p.Trips {
		trips = append(trips, fmt.Sprint(t.Milliseconds()))
	}
	text := fmt.Sprintf("%s (%s ms", p.Name, strings.Join(trips, "/"))
	if p.Jitter > 0 {
		text += fmt.Sprintf(", jitter %.0f %%", 100*p.Jitter)
	}
	if p.Lossy > 0 {
		text += fmt.Sprintf(", %.0f %% lost on the way to the one %v away", 100*p.Loss, p.Trips[p.Lossy-1])
	}
	return text + ")"
}
