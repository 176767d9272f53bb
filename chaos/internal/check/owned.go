package check

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// owned checks the tokens of each owner's nested holds. It compares a hold with the outer hold that the owner believed
// in while it asked: of those acquired alone, the one believed in longest.
func owned(v *Verdict, n nameHolds, unoverlapped map[history.ID]bool, faults *troubles) {
	owners := map[string][]Interval{}
	for _, h := range n.holds {
		if kinds.Of(h.acquired.Mode).Owned() && h.acquired.Owner != "" {
			owners[h.acquired.Owner] = append(owners[h.acquired.Owner], h.beliefs...)
		}
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
			if o == nil || o == h || longest.End <= h.acquired.T || !faults.judge(o, h) {
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
	type worker struct {
		client string
		number int
	}
	type asking struct {
		who      history.ID
		from, to time.Duration
	}
	asked := map[ownership][]*asking{}
	open := map[worker]*asking{}
	for _, e := range events {
		w := worker{e.Client, e.Worker}
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
