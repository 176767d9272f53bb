package check

import (
	"fmt"
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
// A permit of a semaphore counts as exclusive here. No two exclusive holds may have the same token, in whatever order
// they came, except holds of one owner of a reentrant lock.
//
// An inner hold, asked for and acquired while its owner believed in an outer hold, must have the token of the outer
// hold. This is required only if no other acquisition of the owner overlapped that of the outer hold, and if no fault
// kept a majority of the masters from knowing the token. A later hold of the owner must not have a smaller token,
// unless a lasting fault made masters forget. It may have the same one: the residue of a refused or unconfirmed call
// may have kept the ownership alive between the two.
//
// lasting are the faults after which a master may, for the time lingers after the heal, not vote or lack tokens that it
// granted.
func Fencing(events []history.Event, masters int, lasting []string, lingers time.Duration) Verdict {
	v := on(events, ByFencing)
	var fenced []*hold
	for _, h := range holds(events) {
		if h.acquired.Fence == 0 {
			if h.asked.Fencing {
				v.find(h.acquired.Name, []history.Event{*h.asked, *h.acquired}, "%q: %s asked for a fencing token, and got none",
					h.acquired.Name, who(h.who))
			}
			continue
		}
		fenced = append(fenced, h)
	}
	unoverlapped, faults := alone(events), troublesOf(events, masters, lasting, lingers)
	names := byName(fenced)
	for _, n := range names {
		rising(&v, n, faults)
		unique(&v, n)
		owned(&v, n, unoverlapped, faults)
	}
	v.Looked = fmt.Sprintf("%d holds with a token, of %d names", len(fenced), len(names))
	if pairs := faults.judged + faults.excused; pairs > 0 {
		v.Looked += fmt.Sprintf("; in %d of %d cases an owner's token was compared with its earlier one; "+
			"faults excuse the rest", faults.judged, pairs)
	}
	return v
}

func reads(h *hold) bool { return kinds.Of(h.acquired.Mode).Reads() }

// rising compares the token of each hold with the largest token that was returned before the hold was asked for.
func rising(v *Verdict, n nameHolds, faults *troubles) {
	compare(n.holds, func(h *hold, largest *best[*hold]) {
		g, fence := fenceGroup(h), h.acquired.Fence
		last, ok := largest.outside(g) // for a reader: of those that exclude readers
		switch {
		case ok && reads(h) && fence < last.acquired.Fence:
			stale(v, n.name, last, h, "smaller than")
		case ok && !reads(h) && fence <= last.acquired.Fence:
			stale(v, n.name, last, h, "not larger than")
		}
		if last, ok := largest.of(g); ok && !reads(h) && faults.judgeOrder(last, h) && fence < last.acquired.Fence {
			stale(v, n.name, last, h, "smaller than")
		}
	})
}

// ReadersInOrder checks that no reader has a smaller token than a reader that had returned when it was asked for.
// Lock.Fence does not promise this. It is true as long as locks exclude each other and no master forgets its counters.
func ReadersInOrder(events []history.Event) Verdict {
	v := on(events, ByFencing)
	readers := slices.DeleteFunc(holds(events), func(h *hold) bool { return !reads(h) || h.acquired.Fence == 0 })
	names := byName(readers)
	for _, n := range names {
		compare(n.holds, func(h *hold, largest *best[*hold]) {
			if last, ok := largest.of(fenceGroup(h)); ok && h.acquired.Fence < last.acquired.Fence {
				stale(&v, n.name, last, h, "smaller than")
			}
		})
	}
	v.Looked = fmt.Sprintf("%d readers with a token, of %d names", len(readers), len(names))
	return v
}

// compare calls judge for each hold, with the largest tokens that had been returned when the hold was asked for. A
// token that was returned in that very moment is one of them: the masters had decided on it before.
func compare(all []*hold, judge func(h *hold, largest *best[*hold])) {
	var largest best[*hold]
	judgeInOrder(all, askedAt, acquiredAt,
		func(h *hold) { largest.add(fenceGroup(h), int64(h.acquired.Fence), h) },
		func(h *hold) { judge(h, &largest) })
}

func stale(v *Verdict, name string, before, after *hold, than string) {
	v.find(name, []history.Event{*before.acquired, *after.asked, *after.acquired},
		"%q: %s got the token %d, %s the %d that %s had %s before it asked", name, who(after.who), after.acquired.Fence, than,
		before.acquired.Fence, who(before.who), secs(after.asked.T-before.acquired.T))
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
