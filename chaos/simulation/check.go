package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Hold is one holder's belief, in true time since the beginning of the run.
type Hold struct {
	Name string
	Who  string
	// From is when Lock returned. To is the earliest of: Unlock was called, Lock.Context ended, Lock.Until came.
	From, To time.Duration
	// End says which it was.
	End string
}

func (h Hold) String() string {
	return fmt.Sprintf("%s held %q from %v to %v (%s)", h.Who, h.Name, stamp(h.From), stamp(h.To), h.End)
}

// Violation is two holders at once.
type Violation struct {
	First, Second Hold
	From, To      time.Duration
}

func (v Violation) String() string {
	return fmt.Sprintf("two holders of %q for %v, from %v to %v:\n  %v\n  %v",
		v.First.Name, v.To-v.From, stamp(v.From), stamp(v.To), v.First, v.Second)
}

// Exclusion returns every hold that began while another of the same name lasted. A hold that ended before it began (a
// paused client may learn of its lock too late) is none, and one may begin in the instant in which another ends.
func Exclusion(holds []Hold) []Violation {
	sorted := slices.Clone(holds)
	slices.SortStableFunc(sorted, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	var found []Violation
	var last *Hold // the one that lasts longest so far
	for i := range sorted {
		h := &sorted[i]
		if h.To <= h.From {
			continue
		}
		if last == nil || last.Name != h.Name {
			last = h
			continue
		}
		if h.From < last.To {
			found = append(found, Violation{First: *last, Second: *h, From: h.From, To: min(h.To, last.To)})
		}
		if h.To > last.To {
			last = h
		}
	}
	return found
}

func stamp(d time.Duration) string { return fmt.Sprintf("%.6fs", d.Seconds()) }
