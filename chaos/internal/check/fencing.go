package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Fencing checks that each hold that asked for a fencing token has one, and compares the tokens of each name. If A had
// returned when B was asked for:
//   - and B is exclusive, its token must be larger than A's;
//   - and B is a reader and A was exclusive, B's token must not be smaller than A's. [ReadersInOrder] compares readers.
//
// A permit of a semaphore counts as exclusive here. No two exclusive holds may share a token, in whatever order they
// came, except holds of one owner of a reentrant lock.
// An inner hold, asked for and acquired while its owner believed in an outer hold, must have the token of the outer
// hold. This is required only if no other acquisition of the owner overlapped that of the outer hold, and if no fault
// kept a majority of the masters from knowing the token. A later hold of the owner must not have a smaller token,
// unless a lasting fault made masters forget. It may have the same one: the residue of a refused or unconfirmed call
// may have kept the ownership alive between the two.
//
// lasting are the faults after whose healing a master may not know its tokens for the time lingers.
func Fencing(events []history.Event, masters int, lasting []string, lingers time.Duration) Verdict {
	v := on(events, ByFencing)
	fenced := map[string][]*hold{}
	total := 0
	for _, h := range holds(events) {
		if h.acquired.Fence == 0 {
			if h.asked.Fencing {
				v.find(h.acquired.Name, []history.Event{h.asked, h.acquired}, "%q: %s asked for a fencing token, and got none",
					h.acquired.Name, who(h.who))
			}
			continue
		}
		total++
		for _, name := range h.acquired.Locked() {
			fenced[name] = append(fenced[name], h)
		}
	}
	lonely, doubts := alone(events), troublesOf(events, masters, lasting, lingers)
	for _, name := range slices.Sorted(maps.Keys(fenced)) {
		inOrder(&v, name, fenced[name], doubts)
		unique(&v, name, fenced[name])
		owned(&v, name, fenced[name], lonely, doubts)
	}
	v.Looked = fmt.Sprintf("%d holds with a token, of %d names", total, len(fenced))
	if pairs := doubts.judged + doubts.excused; pairs > 0 {
		v.Looked += fmt.Sprintf("; %d of %d times an owner's token was held to the one it had, faults excuse the rest",
			doubts.judged, pairs)
	}
	return v
}

func reads(h *hold) bool { return kinds.Of(h.acquired.Mode).Reads() }

// inOrder compares the token of each hold with the largest token that was returned before the hold was asked for.
func inOrder(v *Verdict, name string, all []*hold, doubts *troubles) {
	compare(all, func(h *hold, largest *best[*hold]) {
		g, fence := fencedWith(h), h.acquired.Fence
		last, ok := largest.outside(g) // for a reader: of those that exclude readers
		switch {
		case ok && reads(h) && fence < last.acquired.Fence:
			stale(v, name, last, h, "smaller than")
		case ok && !reads(h) && fence <= last.acquired.Fence:
			stale(v, name, last, h, "not larger than")
		}
		if last, ok := largest.of(g); ok && !reads(h) && doubts.judgeOrder(last, h) && fence < last.acquired.Fence {
			stale(v, name, last, h, "smaller than")
		}
	})
}

// ReadersInOrder checks that no reader has a smaller token than a reader that had returned when it was asked for.
// Lock.Fence does not promise this. It is true as long as locks exclude each other and no master forgets its counters.
func ReadersInOrder(events []history.Event) Verdict {
	v := on(events, ByFencing)
	readers := map[string][]*hold{}
	total := 0
	for _, h := range holds(events) {
		if reads(h) && h.acquired.Fence > 0 {
			total++
			readers[h.acquired.Name] = append(readers[h.acquired.Name], h)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(readers)) {
		compare(readers[name], func(h *hold, largest *best[*hold]) {
			if last, ok := largest.of(fencedWith(h)); ok && h.acquired.Fence < last.acquired.Fence {
				stale(&v, name, last, h, "smaller than")
			}
		})
	}
	v.Looked = fmt.Sprintf("%d readers with a token, of %d names", total, len(readers))
	return v
}

// compare calls judge for each hold, with the largest tokens that had been returned when the hold was asked for. A
// token that was returned in that very moment is one of them: the masters had decided on it before.
func compare(all []*hold, judge func(h *hold, largest *best[*hold])) {
	asked := slices.Clone(all) // all is in the order of the returns
	slices.SortStableFunc(asked, func(a, b *hold) int { return cmp.Compare(a.asked.T, b.asked.T) })
	var largest best[*hold]
	i := 0
	for _, h := range asked {
		for ; i < len(all) && all[i].acquired.T <= h.asked.T; i++ {
			g := fencedWith(all[i])
			largest.add(g, int64(all[i].acquired.Fence), all[i])
		}
		judge(h, &largest)
	}
}

func stale(v *Verdict, name string, before, after *hold, than string) {
	v.find(name, []history.Event{before.acquired, after.asked, after.acquired},
		"%q: %s got the token %d, %s the %d that %s had %s before it asked", name, who(after.who), after.acquired.Fence, than,
		before.acquired.Fence, who(before.who), secs(after.asked.T-before.acquired.T))
}

// unique finds holds that exclude each other and share a token.
func unique(v *Verdict, name string, all []*hold) {
	first := map[uint64]*hold{}
	for _, h := range all {
		if reads(h) {
			continue
		}
		switch o := first[h.acquired.Fence]; {
		case o == nil:
			first[h.acquired.Fence] = h
		case fencedWith(o) != fencedWith(h):
			v.find(name, []history.Event{o.acquired, h.acquired}, "%q: %s and %s both got the token %d",
				name, who(o.who), who(h.who), h.acquired.Fence)
		}
	}
}
