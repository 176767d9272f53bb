package suite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/delay"
	"github.com/redlock-go/redlock/bench/internal/report"
)

// resend is the minimum time, in addition to the round trip, after which Linux sends a lost TCP segment again.
const resend = 200 * time.Millisecond

func allProfiles() []report.WANProfile {
	trips := func(ms ...int) (all []time.Duration) {
		for _, n := range ms {
			all = append(all, time.Duration(n)*time.Millisecond)
		}
		return all
	}
	return []report.WANProfile{
		{Name: "one-region", Trips: trips(1, 1, 2, 2, 3)},
		{Name: "three-regions", Trips: trips(1, 1, 25, 25, 70)},
		{Name: report.FiveContinents, Trips: trips(1, 10, 40, 80, 160)},
		{Name: "five-continents-rough", Trips: trips(1, 10, 40, 80, 160), Jitter: 0.1, Lossy: 3, Loss: 0.01},
	}
}

// linkTo returns the delays of the link to master i.
func linkTo(p report.WANProfile, i int) delay.Link {
	l := delay.Link{RTT: p.Trips[i], Jitter: p.Jitter}
	if p.Lossy == i+1 {
		l.Loss, l.Resend = p.Loss, resend+p.Trips[i]
	}
	return l
}

func profileNames() (all []string) {
	for _, p := range allProfiles() {
		all = append(all, p.Name)
	}
	return all
}

// pickProfiles returns the profiles in a list, or all if it is empty.
func pickProfiles(list string) ([]report.WANProfile, error) {
	return pickNamed("-profiles", list, allProfiles(), func(p report.WANProfile) string { return p.Name })
}

// pickNamed returns the elements that a comma-separated list names, or all if it is empty, in the order of all.
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
