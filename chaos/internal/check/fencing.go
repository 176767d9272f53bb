package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Fencing checks that each hold that asked for a fencing token has one, and compares the tokens of the holds of each
// name. If hold A was acquired before hold B was asked for, then:
//   - B's token must be larger than A's if B is exclusive;
//   - B's token must not be smaller than A's if B is a reader and A is exclusive. [ReadersInOrder] compares readers.
//
// The same holds if B was acquired after A had ended, whenever B was asked for, unless one of [Terms.Reordering] was
// injected: then a token is only as recent as the request. This does not hold for permits of a semaphore, whose tokens
// need not follow the order in which slots were free.
//
// A permit counts as exclusive here. No two exclusive holds may have the same token, in whatever order
// they came, except holds of one owner of a reentrant lock.
//
// [Owned] compares the tokens of one owner.
func Fencing(events []history.Event, t Terms) Verdict {
	v := on(events, ByFencing)
	var fenced []*hold
	for _, h := range holds(events) {
		if h.acquired.Fence == 0 {
			if h.asked.Fencing {
				v.find(h.acquired.Name, []history.Event{*h.asked, *h.acquired},
					"%q: %s asked for a fencing token, and got none", h.acquired.Name, who(h.who))
			}
			continue
		}
		fenced = append(fenced, h)
	}
	names := byName(fenced)
	reordered := injected(events, t.Reordering)
	for _, n := range names {
		rising(&v, n)
		if !reordered {
			following(&v, n)
		}
		unique(&v, n)
	}
	v.Looked = fmt.Sprintf("%d holds with a token, of %d names", len(fenced), len(names))
	return v
}

func reads(h *hold) bool { return kinds.Of(h.acquired.Mode).Reads() }

// rising compares the token of each hold with the largest token that was returned before the hold was asked for.
func rising(v *Verdict, n nameHolds) {
	compare(n.holds, askedAt, acquiredAt, func(h *hold, largest *best[*hold]) {
		if last, than := stale(h, largest); last != nil {
			v.find(n.name, []history.Event{*last.acquired, *h.asked, *h.acquired},
				"%q: %s got the token %d, %s the %d that %s had %s before it asked", n.name, who(h.who), h.acquired.Fence,
				than, last.acquired.Fence, who(last.who), secs(h.asked.T-last.acquired.T))
		}
	})
}

// following compares the token of each hold with the largest token of the holds that had ended when it came.
func following(v *Verdict, n nameHolds) {
	compare(n.holds, comesAt, endedAt, func(h *hold, largest *best[*hold]) {
		last, than := stale(h, largest)
		switch {
		case last == nil || kinds.Of(h.acquired.Mode).Slotted():
		case h.asked.T >= last.acquired.T: // rising finds it
		case h.acquired.Fence == last.acquired.Fence && !reads(last): // unique finds it
		default:
			v.find(n.name, []history.Event{*last.acquired, *last.ends(), *h.asked, *h.acquired},
				"%q: %s got the token %d, %s the %d of %s, which had ended at %s", n.name, who(h.who), h.acquired.Fence,
				than, last.acquired.Fence, who(last.who), moment(last.ended))
		}
	})
}

// comesAt is when the hold has begun for certain: a lock may be returned after its deadline.
func comesAt(h *hold) time.Duration { return min(h.acquired.T, h.acquired.Until) }

// stale returns the hold with a token that h must have exceeded, and how it compares; nil if there is none.
func stale(h *hold, largest *best[*hold]) (last *hold, than string) {
	last, ok := largest.outside(fenceGroup(h)) // for a reader: of those that exclude readers
	switch {
	case ok && reads(h) && h.acquired.Fence < last.acquired.Fence:
		return last, "smaller than"
	case ok && !reads(h) && h.acquired.Fence <= last.acquired.Fence:
		return last, "not larger than"
	}
	return nil, ""
}

// ReadersInOrder checks that no reader has a smaller token than a reader that had returned when it was asked for.
// Lock.Fence does not promise this. It is true as long as locks exclude each other and no master forgets its counters.
func ReadersInOrder(events []history.Event) Verdict {
	v := on(events, ByFencing)
	readers := slices.DeleteFunc(holds(events), func(h *hold) bool { return !reads(h) || h.acquired.Fence == 0 })
	names := byName(readers)
	for _, n := range names {
		notSmaller(&v, n)
	}
	v.Looked = fmt.Sprintf("%d readers with a token, of %d names", len(readers), len(names))
	return v
}

// notSmaller finds holds with a smaller token than one that they may share the name with had before they asked.
func notSmaller(v *Verdict, n nameHolds) {
	compare(n.holds, askedAt, acquiredAt, func(h *hold, largest *best[*hold]) {
		if last, ok := largest.of(fenceGroup(h)); ok && h.acquired.Fence < last.acquired.Fence {
			v.find(n.name, []history.Event{*last.acquired, *h.asked, *h.acquired},
				"%q: the %s %s got the token %d, smaller than the %d that %s had before it asked", n.name, h.acquired.Mode,
				who(h.who), h.acquired.Fence, last.acquired.Fence, who(last.who))
		}
	})
}

// compare calls judge for each hold, in the order of comes, with the largest tokens of the holds that counted by then.
// A token that was returned in the very moment of a request is one of them: the masters had decided on it before.
func compare(all []*hold, comes, counts func(*hold) time.Duration, judge func(h *hold, largest *best[*hold])) {
	by := func(key func(*hold) time.Duration) []*hold {
		return slices.SortedStableFunc(slices.Values(all), func(a, b *hold) int { return cmp.Compare(key(a), key(b)) })
	}
	var largest best[*hold]
	counted := by(counts)
	for _, h := range by(comes) {
		for ; len(counted) > 0 && counts(counted[0]) <= comes(h); counted = counted[1:] {
			largest.add(fenceGroup(counted[0]), int64(counted[0].acquired.Fence), counted[0])
		}
		judge(h, &largest)
	}
}

// unique finds holds that exclude each other and share a token.
func unique(v *Verdict, n nameHolds) {
	first := map[uint64]*hold{}
	for _, h := range n.holds {
		if reads(h) {
			continue
		}
		switch o := first[h.acquired.Fence]; {
		case o == nil:
			first[h.acquired.Fence] = h
		case fenceGroup(o) != fenceGroup(h):
			v.find(n.name, []history.Event{*o.acquired, *h.acquired}, "%q: %s and %s both got the token %d",
				n.name, who(o.who), who(h.who), h.acquired.Fence)
		}
	}
}

// Owned checks the tokens of owners of reentrant locks:
//   - An inner hold, asked for and acquired while its owner believed in an outer hold, must have the token of the outer
//     hold, if no other acquisition of the owner overlapped that of the outer hold.
//   - A later hold of the owner must not have a smaller token. It may have the same one: the residue of a refused or
//     unconfirmed call may have kept the ownership alive between the two.
//
// This is true as long as every master can answer, and none forgets a token. Elsewhere the majority that decides on the
// inner hold need not know the token.
func Owned(events []history.Event) Verdict {
	v := on(events, ByFencing)
	owned := slices.DeleteFunc(holds(events), func(h *hold) bool {
		return h.acquired.Fence == 0 || !kinds.Of(h.acquired.Mode).Owned() || h.acquired.Owner == ""
	})
	names, unoverlapped := byName(owned), alone(events)
	for _, n := range names {
		nested(&v, n, unoverlapped)
		notSmaller(&v, n)
	}
	v.Looked = fmt.Sprintf("%d holds of owners with a token, of %d names", len(owned), len(names))
	return v
}

// nested compares a hold with the outer hold that the owner believed in while it asked: of those acquired alone, the
// one believed in longest.
func nested(v *Verdict, n nameHolds, unoverlapped map[history.ID]bool) {
	owners := map[string][]Interval{}
	for _, h := range n.holds {
		owners[h.acquired.Owner] = append(owners[h.acquired.Owner], h.beliefs...)
	}
	for _, owner := range slices.Sorted(maps.Keys(owners)) {
		begun := owners[owner]
		slices.SortStableFunc(begun, func(a, b Interval) int { return cmp.Compare(a.Begin, b.Begin) })
		var inner []*hold
		for _, b := range begun {
			if b.Begin == b.hold.acquired.T {
				inner = append(inner, b.hold)
			}
		}
		slices.SortStableFunc(inner, func(a, b *hold) int { return cmp.Compare(a.asked.T, b.asked.T) })
		var longest Interval // of those that had begun when the inner hold was asked for
		i := 0
		for _, h := range inner {
			for ; i < len(begun) && begun[i].Begin <= h.asked.T; i++ {
				if unoverlapped[begun[i].hold.who] && begun[i].End > longest.End {
					longest = begun[i]
				}
			}
			o := longest.hold
			if o == nil || o == h || longest.End <= h.acquired.T {
				continue
			}
			if o.acquired.Fence != h.acquired.Fence {
				v.find(n.name, []history.Event{*longest.from, *h.asked, *h.acquired, *longest.to},
					"%q: %s holds it already as %s with the token %d, and %s got %d", n.name, owner, who(o.who),
					o.acquired.Fence, who(h.who), h.acquired.Fence)
			}
		}
	}
}

// alone returns the acquisitions of owners that no other acquisition of the same owner overlaps, successful or not. An
// acquisition that never returned lasts until its worker, perhaps in its client's next life, asks again.
func alone(events []history.Event) map[history.ID]bool {
	type ownership struct{ name, owner string }
	type asking struct {
		who      history.ID
		from, to time.Duration
	}
	asked := map[ownership][]*asking{}
	open := map[history.ID]*asking{}
	for _, e := range events {
		w := history.ID{Client: e.Client, Worker: e.Worker}
		switch e.Kind {
		case history.Invoked, history.Acquired, history.Refused:
			if o := open[w]; o != nil {
				o.to = e.T
				delete(open, w)
			}
		}
		if e.Kind == history.Invoked && kinds.Of(e.Mode).Owned() && e.Owner != "" {
			open[w] = &asking{who: e.ID(), from: e.T, to: math.MaxInt64}
			o := ownership{e.Name, e.Owner}
			asked[o] = append(asked[o], open[w])
		}
	}
	all := map[history.ID]bool{}
	for _, one := range asked { // in order of from
		latest := time.Duration(math.MinInt64)
		for i, a := range one {
			all[a.who] = latest < a.from && (i+1 == len(one) || one[i+1].from > a.to)
			latest = max(latest, a.to)
		}
	}
	return all
}
