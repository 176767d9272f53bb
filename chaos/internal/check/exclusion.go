package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Exclusion checks that no two holders believed that they held one name at the same time, unless they may share it:
// readers share, and so do the holds of one owner of a reentrant lock, and the holders of a semaphore with one number
// of slots ([Slots] counts those). A lock of several names is held in each of them. One interval may end in the
// nanosecond in which the next begins. Between two beliefs of one hold, whose extension came late, no other may hold.
func Exclusion(events []history.Event) Verdict {
	v := on(events, ByExclusion)
	all := holds(events)
	names := byName(all)
	for _, n := range names {
		overlaps(&v, n.name, beliefs(n.holds))
		interrupted(&v, n)
	}
	v.Looked = fmt.Sprintf("%d holds of %d names", len(all), len(names))
	return v
}

// overlaps finds overlapping beliefs in one name. It compares each belief with one earlier belief: of those that it may
// not share with, the one that ends last. If these two do not overlap, no earlier one overlaps either.
func overlaps(v *Verdict, name string, all []Interval) {
	sortByBegin(all)
	var latest best[Interval]
	for _, b := range all {
		g := groupOf(b.hold)
		if last, ok := latest.outside(g); ok && b.Begin < last.End {
			v.find(name, []history.Event{*last.from, *last.to, *b.from, *b.to},
				"%q was held by two for %v: %s from %s to %s, %s from %s to %s", name, min(b.End, last.End)-b.Begin,
				holderText(last), moment(last.Begin), moment(last.End), holderText(b), moment(b.Begin), moment(b.End))
		}
		latest.add(g, int64(b.End), b)
	}
}

// interrupted finds holds that others had between two of their beliefs (a reader may come back after a writer), or from
// before the request of another hold until after its return, which was past its deadline.
func interrupted(v *Verdict, n nameHolds) {
	for _, h := range n.holds {
		if len(h.beliefs) == 0 && h.asked != h.acquired {
			within(v, n, h)
		}
		for i := 1; i < len(h.beliefs) && !reads(h); i++ {
			from, to := h.beliefs[i-1], h.beliefs[i]
			for _, o := range beliefs(n.holds) {
				if o.Begin >= from.End && o.End <= to.Begin && groupOf(o.hold) != groupOf(h) {
					v.find(n.name, []history.Event{*from.to, *o.from, *o.to, *to.from},
						"%q: %s held it again from %s on, although %s had held it from %s to %s", n.name, who(h.who),
						moment(to.Begin), holderText(o), moment(o.Begin), moment(o.End))
				}
			}
		}
	}
}

// within finds the beliefs in which h was asked for and returned.
func within(v *Verdict, n nameHolds, h *hold) {
	for _, o := range beliefs(n.holds) {
		if o.Begin <= h.asked.T && h.acquired.T < o.End && groupOf(o.hold) != groupOf(h) {
			v.find(n.name, []history.Event{*o.from, *h.asked, *h.acquired, *o.to},
				"%q: %s got it, until %s, while it was held by %s from %s to %s", n.name, who(h.who),
				moment(h.acquired.Until), holderText(o), moment(o.Begin), moment(o.End))
		}
	}
}

func sortByBegin(all []Interval) {
	slices.SortFunc(all, func(a, b Interval) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End))
	})
}

func holderText(b Interval) string {
	if mode := b.Acquired.Mode; mode != "" && mode != kinds.Mutex {
		return mode + " " + who(b.hold.who)
	}
	return who(b.hold.who)
}

// best keeps the item with the largest value, and the item with the largest value of any other group. For each group
// there is thus an item that is not of this group.
type best[T any] struct {
	first, second ranked[T]
}

type ranked[T any] struct {
	set   bool
	group group
	value int64
	item  T
}

func (b *best[T]) add(g group, value int64, item T) {
	r := ranked[T]{true, g, value, item}
	switch {
	case b.first.set && b.first.group == g:
		if value > b.first.value {
			b.first = r
		}
	case !b.first.set || value > b.first.value:
		b.first, b.second = r, b.first
	case !b.second.set || value > b.second.value:
		b.second = r
	}
}

// outside returns the item with the largest value that is not of the group g.
func (b *best[T]) outside(g group) (T, bool) {
	if b.first.set && b.first.group != g {
		return b.first.item, true
	}
	return b.second.item, b.second.set
}

// of returns the item of the group g with the largest value, if it is one of the two.
func (b *best[T]) of(g group) (T, bool) {
	if b.first.set && b.first.group == g {
		return b.first.item, true
	}
	return b.second.item, b.second.set && b.second.group == g
}
