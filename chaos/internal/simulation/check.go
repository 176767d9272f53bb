package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Hold is one holder's belief about one name, in true time since the beginning of the run.
type Hold struct {
	Name string
	Who  string
	Kind Kind
	// Owner is whose a reentrant lock is.
	Owner string
	// Fence is the fencing token, 0 without; Token the lock's own.
	Fence uint64
	Token string
	// TTL is what it was locked with, and Keepalive whether it is extended.
	TTL       time.Duration
	Keepalive bool
	// Asked is when Lock was called and From when it returned. To is the earliest of: Unlock was called, the Locker
	// closed, Lock.Until came, and of a writer: Downgrade was called. From then on it is a hold of a reader.
	Asked, From, To time.Duration
	// End says which it was, and Lost whether the holder had no say in it.
	End  string
	Lost bool
}

func (h Hold) String() string {
	what := string(h.Kind)
	if h.Owner != "" {
		what += " of " + h.Owner
	}
	text := fmt.Sprintf("%s held %q as %s from %v to %v (%s)", h.Who, h.Name, what, stamp(h.From), stamp(h.To), h.End)
	if h.Fence != 0 {
		text += fmt.Sprintf(", fencing token %d, asked for at %v", h.Fence, stamp(h.Asked))
	}
	return text
}

// shared: the two may hold a name together.
func (h Hold) shared(other Hold) bool {
	return h.Kind == other.Kind && (h.Kind == Reader || h.owned(other))
}

// owned: the two are one owner's.
func (h Hold) owned(other Hold) bool {
	return h.Kind == Reentrant && other.Kind == Reentrant && h.Owner == other.Owner
}

// Violation is two holds that break a rule.
type Violation struct {
	Rule          string
	First, Second Hold
	From, To      time.Duration
}

func (v Violation) String() string {
	return fmt.Sprintf("%s of %q for %v, from %v to %v:\n  %v\n  %v",
		v.Rule, v.First.Name, v.To-v.From, stamp(v.From), stamp(v.To), v.First, v.Second)
}

const twoHolders = "two holders"

// Exclusion returns every hold that began while another of the same name lasted beside which it must not be. A hold
// that ended before it began (a paused client may learn of its lock too late) is none, and one may begin in the instant
// in which another ends.
func Exclusion(holds []Hold) []Violation {
	sorted := slices.Clone(holds)
	slices.SortStableFunc(sorted, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	var found []Violation
	var present []Hold // that last when the one at hand begins, or longer than any before
	for _, h := range sorted {
		if h.To <= h.From {
			continue
		}
		present = slices.DeleteFunc(present, func(p Hold) bool { return p.Name != h.Name || p.To <= h.From })
		var worst *Hold
		for i, p := range present {
			if !h.shared(p) && (worst == nil || p.To > worst.To) {
				worst = &present[i]
			}
		}
		if worst != nil {
			found = append(found, Violation{Rule: twoHolders, First: *worst, Second: h, From: h.From, To: min(h.To, worst.To)})
		}
		present = append(present, h)
	}
	return found
}

func stamp(d time.Duration) string { return fmt.Sprintf("%.6fs", d.Seconds()) }
