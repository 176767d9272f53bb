package simulation

import (
	"cmp"
	"slices"
	"time"
)

// Wait is one call of Lock, which waits until its context ends.
type Wait struct {
	Who      string
	Names    []string
	Kind     string
	From, To time.Duration
}

// Idle returns the longest interval, if any exceeds most, in which a call waited for names that all were free.
func Idle(waits []Wait, holds []Hold, most time.Duration) (longest Wait, found bool) {
	sorted := slices.Clone(holds)
	slices.SortStableFunc(sorted, func(a, b Hold) int { return cmp.Compare(a.From, b.From) })
	for _, w := range waits {
		free := w.From
		look := func(until time.Duration) {
			if until = min(until, w.To); until-free > max(most, longest.To-longest.From) {
				longest, found = Wait{Who: w.Who, Names: w.Names, Kind: w.Kind, From: free, To: until}, true
			}
		}
		for _, h := range sorted {
			if slices.Contains(w.Names, h.Name) {
				look(h.From)
				free = max(free, h.To)
			}
		}
		look(w.To)
	}
	return longest, found
}
