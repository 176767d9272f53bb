package check

import (
	"math"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// settles is for how long a fault has effects after it was healed: long enough for every client to try the master
// again.
const settles = 2 * time.Second

// troubles are the intervals in which a master may not have known an owner's token, during a fault and some time after
// it, and the intervals in which a client's process did not run.
type troubles struct {
	masters map[int][]span
	// lasting are those of lasting faults, after which a master may have lost its tokens.
	lasting  map[int][]span
	clients  map[string][]span
	majority int
	// judged is the number of pairs of an owner's holds that were compared, excused the number of those that were not.
	judged, excused int
}

func troublesOf(events []history.Event, masters int, lasting []string, lingers time.Duration) *troubles {
	all := &troubles{
		masters: map[int][]span{}, lasting: map[int][]span{}, clients: map[string][]span{}, majority: masters/2 + 1,
	}
	for _, e := range events {
		if e.Kind == history.Stalled {
			all.clients[e.Client] = append(all.clients[e.Client], span{e.T - e.Stall, e.T})
		}
	}
	for _, o := range Outages(events, history.Healthy) {
		if o.On != "masters" {
			continue
		}
		lasts := slices.Contains(lasting, o.Fault)
		trouble := span{o.From, o.To + settles}
		switch {
		case o.Open:
			trouble.to = math.MaxInt64
		case lasts:
			trouble.to = o.To + lingers
		}
		all.masters[o.Target] = append(all.masters[o.Target], trouble)
		if lasts {
			all.lasting[o.Target] = append(all.lasting[o.Target], trouble)
		}
	}
	return all
}

// judge reports whether an owner must have the same token in two holds, and counts the answer.
func (t *troubles) judge(before, after *hold) bool { return t.count(!t.excuse(before, after)) }

// judgeOrder reports whether a later hold of an owner must not have a smaller token, and counts the answer. Only
// lasting faults excuse that: any majority has a master that knows the larger token, unless masters lost it.
func (t *troubles) judgeOrder(before, after *hold) bool {
	return t.count(t.known(before, span{before.asked.T, after.acquired.T}, t.lasting))
}

func (t *troubles) count(judged bool) bool {
	if judged {
		t.judged++
	} else {
		t.excused++
	}
	return judged
}

// excuse reports whether an owner may have different tokens in two holds. It may if one of the two processes did not
// run between the request of the first hold and the acquisition of the second, or if, in that time, fewer than a
// majority of the masters that granted the first hold were without trouble.
//
// A busy machine can thus only leave pairs out, and each verdict has their number. Virtual time leaves none out for it.
func (t *troubles) excuse(before, after *hold) bool {
	meanwhile := span{before.asked.T, after.acquired.T}
	if meets(t.clients[before.who.Client], meanwhile) || meets(t.clients[after.who.Client], meanwhile) {
		return true
	}
	return !t.known(before, meanwhile, t.masters)
}

// known reports whether a majority of the masters granted the hold with its token and were without trouble meanwhile,
// or all masters were without trouble. A vote without a token counts as one with the hold's token.
func (t *troubles) known(before *hold, meanwhile span, troubles map[int][]span) bool {
	troubled := map[int]bool{}
	for m, spans := range troubles {
		if meets(spans, meanwhile) {
			troubled[m] = true
		}
	}
	if len(troubled) == 0 {
		return true
	}
	knowing := 0
	for _, v := range before.acquired.Votes {
		token := v.Fence == 0 || v.Fence == before.acquired.Fence
		if v.Verdict == "granted" && token && !troubled[v.Master] {
			knowing++
		}
	}
	return knowing >= t.majority
}

// meets reports whether one of the spans overlaps s.
func meets(spans []span, s span) bool {
	return slices.ContainsFunc(spans, func(o span) bool { return o.from < s.to && s.from < o.to })
}
