package simulation

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Order returns every hold whose fencing token is too small after that of an earlier hold of the same name. It must be
// larger, or for a reader and for the same owner not smaller. Each hold is paired with the earlier one that has the
// largest token.
//
// One hold is earlier than another if its Lock had returned when the other was asked for. If lasting is true, a hold
// that was over when the other began is also earlier, provided that the two exclude each other. Lock.Fence does not
// promise that, but it is true as long as locks exclude each other and no master loses its counters unnoticed. The same
// applies to the order of two readers, of which Lock.Fence promises nothing.
func Order(holds []Hold, lasting bool) []Violation {
	var found []Violation
	for _, group := range fenced(holds) {
		for n, second := range group {
			var worst *Hold
			for i, first := range group {
				if i != n && first.before(second, lasting) && first.outranks(second, lasting) &&
					(worst == nil || first.Fence > worst.Fence) {
					worst = &group[i]
				}
			}
			if worst != nil {
				found = append(
					found,
					Violation{Rule: "fencing tokens out of order", First: *worst, Second: second, From: worst.From, To: second.From},
				)
			}
		}
	}
	return found
}

func (h Hold) before(second Hold, lasting bool) bool {
	return h.From <= second.Asked || (lasting && !h.shared(second) && h.To <= second.From && second.From < second.To)
}

// outranks reports whether h's fencing token rules out the token of second, a later hold.
func (h Hold) outranks(second Hold, lasting bool) bool {
	if h.Kind == kinds.Reader && second.Kind == kinds.Reader && !lasting {
		return false
	}
	if second.Kind == kinds.Reader || h.owned(second) {
		return h.Fence > second.Fence
	}
	return h.Fence >= second.Fence
}

// Attempt is one call for a hold of a reentrant lock, whatever its result. From is when the first master received it.
// To is when the last request to acquire the hold, or to raise a counter to its fencing token, reached a master.
type Attempt struct {
	Name, Owner, Token string
	From, To           time.Duration
}

// Alone reports whether no other attempt of the owner on the name was in flight while the hold was acquired. Only then
// does docs/fencing.md promise that later holds get its fencing token.
func Alone(h Hold, attempts []Attempt) bool {
	return !slices.ContainsFunc(attempts, func(a Attempt) bool {
		return a.Name == h.Name && a.Owner == h.Owner && a.Token != h.Token && a.From <= h.From && a.To >= h.Asked
	})
}

// Sharing returns every hold of an owner that was asked for while the owner had another, and overlapped with it, but
// has a different fencing token. It omits pairs for which excused returns true.
func Sharing(holds []Hold, excused func(first, second Hold) bool) []Violation {
	var found []Violation
	for _, group := range fenced(holds) {
		for _, second := range group {
			for _, first := range group {
				beside := first.owned(second) && first.From <= second.Asked && second.From < min(first.To, second.To)
				if beside && first.Fence != second.Fence && !excused(first, second) {
					found = append(found, Violation{
						Rule:   "two fencing tokens of one owner",
						First:  first,
						Second: second,
						From:   second.From,
						To:     min(first.To, second.To),
					})
				}
			}
		}
	}
	return found
}

// fenced returns the holds that have a fencing token, grouped by name and sorted by when they began.
func fenced(holds []Hold) [][]Hold {
	byName := make(map[string][]Hold)
	for _, h := range holds {
		if h.Fence != 0 {
			byName[h.Name] = append(byName[h.Name], h)
		}
	}
	var groups [][]Hold
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		slices.SortStableFunc(byName[name], func(a, b Hold) int { return cmp.Compare(a.From, b.From) })
		groups = append(groups, byName[name])
	}
	return groups
}
