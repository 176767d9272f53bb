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
