package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/delay"
)

// A wanProfile is where the five masters are: what a round trip to each takes.
type wanProfile struct {
	Name   string          `json:"name"`
	Trips  []time.Duration `json:"round_trips_ns"`
	Jitter float64         `json:"jitter,omitempty"` // each direction takes up to this share longer
	Lossy  int             `json:"lossy,omitempty"`  // which master is behind a link that loses segments, from 1; 0: none
	Loss   float64         `json:"loss,omitempty"`   // which share of them
}

// resend is how long TCP waits at the least before it sends a lost segment again, on Linux, on top of the round trip.
const resend = 200 * time.Millisecond

func allProfiles() []wanProfile {
	trips := func(ms ...int) (all []time.Duration) {
		for _, n := range ms {
			all = append(all, time.Duration(n)*time.Millisecond)
		}
		return all
	}
	return []wanProfile{
		{Name: "one-region", Trips: trips(1, 1, 2, 2, 3)},
		{Name: "three-regions", Trips: trips(1, 1, 25, 25, 70)},
		{Name: fiveContinents, Trips: trips(1, 10, 40, 80, 160)},
		{Name: "five-continents-rough", Trips: trips(1, 10, 40, 80, 160), Jitter: 0.1, Lossy: 3, Loss: 0.01},
	}
}

const fiveContinents = "five-continents"

// third is the round trip that a majority of five takes: with the nearest three.
func (p wanProfile) third() time.Duration {
	return slices.Sorted(slices.Values(p.Trips))[len(p.Trips)/2]
}

// link is the way to master i.
func (p wanProfile) link(i int) delay.Link {
	l := delay.Link{RTT: p.Trips[i], Jitter: p.Jitter}
	if p.Lossy == i+1 {
		l.Loss, l.Resend = p.Loss, resend+p.Trips[i]
	}
	return l
}

func (p wanProfile) String() string {
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

func profileNames() (all []string) {
	for _, p := range allProfiles() {
		all = append(all, p.Name)
	}
	return all
}

// pickProfiles returns those in a list, all for an empty one.
func pickProfiles(list string) ([]wanProfile, error) {
	return pickNamed("-profiles", list, allProfiles(), func(p wanProfile) string { return p.Name })
}

// pickNamed returns the things in a list of names by commas, all for an empty one, in their own order.
func pickNamed[T any](flag, list string, all []T, name func(T) string) ([]T, error) {
	if list == "" {
		return all, nil
	}
	wanted := strings.Split(list, ",")
	for _, w := range wanted {
		if !slices.ContainsFunc(all, func(t T) bool { return name(t) == w }) {
			var known []string
			for _, t := range all {
				known = append(known, name(t))
			}
			return nil, fmt.Errorf("%s: there is no %q; there are %s", flag, w, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(t T) bool { return !slices.Contains(wanted, name(t)) }), nil
}
