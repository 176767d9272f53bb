package check

import (
	"math"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// How long a fault is felt after it was healed.
const (
	// settles is ample for a client to try the master again. A hold that the master grants later, it can tell.
	settles = 2 * time.Second
	// lingers is that of a fault after which the master may not vote, or has not what it granted: a restart window, and what a
	// client takes to trust it again.
	lingers = 10 * time.Second
)

// troubles are the stretches in which a master may not have been able to tell what an owner has, while it had a fault and
// some time after, and those in which a client's process did not run.
type troubles struct {
	masters  map[int][]span
	clients  map[string][]span
	majority int
	// judged and excused are how many pairs of an owner's holds were compared, and how many were not.
	judged, excused int
}

func troublesOf(events []history.Event, masters int, lasting []string) *troubles {
	all := &troubles{masters: map[int][]span{}, clients: map[string][]span{}, majority: masters/2 + 1}
	type hit struct {
		master int
		fault  string
	}
	since := map[hit]time.Duration{}
	for _, e := range events {
		switch {
		case e.Kind == history.Stalled:
			all.clients[e.Client] = append(all.clients[e.Client], span{e.T - e.Stall, e.T})
		case e.On != "masters":
		case e.Kind == history.Inject:
			for _, m := range e.Targets {
				since[hit{m, e.Fault}] = e.T
			}
		case e.Kind == history.Healthy:
			for _, m := range e.Targets {
				if from, ok := since[hit{m, e.Fault}]; ok {
					delete(since, hit{m, e.Fault})
					after := settles
					if slices.Contains(lasting, e.Fault) {
						after = lingers
					}
					all.masters[m] = append(all.masters[m], span{from, e.T + after})
				}
			}
		}
	}
	for at, from := range since {
		all.masters[at.master] = append(all.masters[at.master], span{from, math.MaxInt64})
	}
	return all
}

// judge reports whether an owner must have one token in two holds, and counts.
func (t *troubles) judge(before, after *hold) bool {
	if t.excuse(before, after) {
		t.excused++
		return false
	}
	t.judged++
	return true
}

// excuse reports whether an owner may have another token in a hold than in one before: if one of the two processes did not
// run meanwhile, or if of the masters that are known to have granted the first hold no majority was without trouble from the
// moment it was asked for until the other was acquired.
func (t *troubles) excuse(before, after *hold) bool {
	meanwhile := span{before.asked.T, after.acquired.T}
	if meets(t.clients[before.who.Client], meanwhile) || meets(t.clients[after.who.Client], meanwhile) {
		return true
	}
	troubled := map[int]bool{}
	for m, spans := range t.masters {
		if meets(spans, meanwhile) {
			troubled[m] = true
		}
	}
	if len(troubled) == 0 {
		return false
	}
	tell := 0
	for _, v := range before.acquired.Votes {
		if v.Verdict == "granted" && !troubled[v.Master] {
			tell++
		}
	}
	return tell < t.majority
}

// meets reports whether one of the spans has a moment in common with s.
func meets(spans []span, s span) bool {
	return slices.ContainsFunc(spans, func(o span) bool { return o.from < s.to && s.from < o.to })
}
