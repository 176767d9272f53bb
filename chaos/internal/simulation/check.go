package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Hold is the interval in which one holder could rely on its lock of one name. Times are true times since the start of
// the run.
type Hold struct {
	Name string
	Who  string
	Kind string
	// Owner is the owner of a reentrant lock.
	Owner string
	// Fence is the fencing token, or 0 without fencing. Token is the lock's token.
	Fence uint64
	Token string
	// TTL is the TTL of the lock. Keepalive reports whether the lock is extended automatically.
	TTL       time.Duration
	Keepalive bool
	// Asked is when Lock was called and From when it returned. To is when the hold ended: at the call of Unlock, when
	// the Locker closed, or at Lock.Until, whichever came first. For a writer it may also be the call of Downgrade; the
	// rest is another Hold, of a reader.
	Asked, From, To time.Duration
	// End says what ended the hold. Lost reports whether it ended against the holder's will.
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

// shared reports whether both may hold a name at the same time.
func (h Hold) shared(other Hold) bool {
	return h.Kind == other.Kind && (kinds.Of(h.Kind).Reads() || h.owned(other))
}

// owned reports whether both belong to the same owner of a reentrant lock.
func (h Hold) owned(other Hold) bool {
	return h.Kind == other.Kind && kinds.Of(h.Kind).Owned() && h.Owner == other.Owner
}

// Violation is a pair of holds that break a rule.
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

// Exclusion returns every hold that began during another hold of the same name with which it must not overlap. It
// ignores a hold that ended before it began, as happens when a paused client receives its lock too late. A hold may
// begin in the instant in which another ends.
func Exclusion(holds []Hold) []Violation {
	sorted := slices.Clone(holds)
	slices.SortStableFunc(sorted, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	var found []Violation
	var present []Hold // earlier holds that have not ended when h begins
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
