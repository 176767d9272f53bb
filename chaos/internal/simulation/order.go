package simulation

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Order returns every hold whose fencing token is not what it must be after that of an earlier one of the same name:
// larger, or for a reader and for the same owner not smaller. The earlier one is compared with where it is the latest.
//
// One is before another if its Lock had returned when the other was asked for; or, where the two exclude each other, if
// it was over when the other began, though they may have been asked for in any order. The latter is more than
// Lock.Fence promises, and holds as long as locks exclude each other and no master forgets its counters without anybody
// noticing: lasting. So does the order of readers among themselves: of two of them nothing is promised.
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

// outranks: the fencing token of the first does not let the second have the one it has.
func (h Hold) outranks(second Hold, lasting bool) bool {
	if h.Kind == Reader && second.Kind == Reader && !lasting {
		return false
	}
	if second.Kind == Reader || h.owned(second) {
		return h.Fence > second.Fence
	}
	return h.Fence >= second.Fence
}

// Attempt is one call for a hold of a reentrant lock, whatever became of it: From is when the first master heard of it,
// and To when the last one was asked for the hold or told its fencing token.
type Attempt struct {
	Name, Owner, Token string
	From, To           time.Duration
}

// Alone reports whether no other attempt of the owner on the name was under way while the hold was taken.
// Docs/fencing.md promises the holds that come later its fencing token only then.
func Alone(h Hold, attempts []Attempt) bool {
	return !slices.ContainsFunc(attempts, func(a Attempt) bool {
		return a.Name == h.Name && a.Owner == h.Owner && a.Token != h.Token && a.From <= h.From && a.To >= h.Asked
	})
}

// Sharing returns every hold of an owner that was asked for while the owner had another, and lasted beside it, but has
// not the same fencing token. excused says for which there is a reason.
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

// fenced are the holds that have a fencing token, by name, in the order they began.
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
