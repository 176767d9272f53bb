package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Exclusion checks that no two holders of one name believed in it at the same time, unless they may: readers share, and
// so do the holds of one owner of a reentrant lock. A lock of several names is held in each of them. One stretch may end
// in the very nanosecond in which the next begins.
func Exclusion(events []history.Event) Verdict {
	v := on(events, "exclusion")
	all := holds(events)
	beliefs, names := byName(all)
	for _, name := range names {
		overlaps(&v, name, beliefs[name])
	}
	v.Looked = fmt.Sprintf("%d holds of %d names", len(all), len(names))
	return v
}

// overlaps sweeps over the beliefs in one name. Beside each belief goes the one before it, of those that it may not
// share with, that ends last: if the two are apart, so are all earlier ones.
func overlaps(v *Verdict, name string, all []belief) {
	slices.SortFunc(all, func(a, b belief) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	var latest best[belief]
	for _, b := range all {
		g := groupOf(b.mode, b.hold)
		if last, ok := latest.beside(g); ok && b.start < last.end {
			v.find(name, []history.Event{last.from, last.to, b.from, b.to},
				"%q was held by two for %v: %s from %s to %s, %s from %s to %s", name, min(b.end, last.end)-b.start,
				as(last), moment(last.start), moment(last.end), as(b), moment(b.start), moment(b.end))
		}
		latest.add(g, int64(b.end), b)
	}
}

func as(b belief) string {
	if b.mode == "" || b.mode == history.ModeMutex {
		return who(b.hold.who)
	}
	return b.mode + " " + who(b.hold.who)
}

// best keeps the items with the largest values, of two groups: so that there is one to compare with beside any group.
type best[T any] struct {
	first, second ranked[T]
}

type ranked[T any] struct {
	is    bool
	group group
	value int64
	item  T
}

func (b *best[T]) add(g group, value int64, item T) {
	r := ranked[T]{true, g, value, item}
	switch {
	case b.first.is && b.first.group == g:
		if value > b.first.value {
			b.first = r
		}
	case !b.first.is || value > b.first.value:
		b.first, b.second = r, b.first
	case !b.second.is || value > b.second.value:
		b.second = r
	}
}

// beside returns the item with the largest value that is not of the group g.
func (b *best[T]) beside(g group) (T, bool) {
	if b.first.is && b.first.group != g {
		return b.first.item, true
	}
	return b.second.item, b.second.is
}

// of returns the item of the group g with the largest value, if that is among the two.
func (b *best[T]) of(g group) (T, bool) {
	if b.first.is && b.first.group == g {
		return b.first.item, true
	}
	return b.second.item, b.second.is && b.second.group == g
}
