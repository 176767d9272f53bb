package check

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// window is how many holds of a name are judged at once. Leaving out whole holds keeps a legal history legal, so a
// window has no findings that the whole history would not have. A window cannot show a violation between holds that are
// farther apart. Since windows overlap by half, it misses only violations of the order of tokens, and [Fencing] finds
// those.
const window = 400

// Linearizability checks that the history of each name is linearizable: a single lock whose tokens grow could have
// produced it, with every acquisition and every end of a hold taking effect at one instant. limit bounds the search for
// each name; a name that is not decided in time leaves the verdict undecided.
func Linearizability(events []history.Event, limit time.Duration) Verdict {
	v := on(events, ByLinearizability)
	all := holds(events)
	names := byName(all)
	var open []string
	for _, n := range names {
		bad, result := illegal(n.holds, time.Now().Add(limit))
		switch result {
		case porcupine.Illegal:
			v.find(n.name, proof(bad), "%q: no single lock could have been held like this: %s",
				n.name, described(bad, v.begin))
		case porcupine.Unknown:
			open = append(open, fmt.Sprintf("%q", n.name))
		case porcupine.Ok:
		}
	}
	if len(open) > 0 {
		v.Undecided = fmt.Sprintf("%s not decided within %v each", strings.Join(open, ", "), limit)
	}
	v.Looked = fmt.Sprintf("%d holds of %d names", len(all), len(names))
	return v
}

// illegal looks for holds that no order explains, and returns as few of them as it can.
func illegal(all []*hold, deadline time.Time) ([]*hold, porcupine.CheckResult) {
	result := porcupine.Ok
	for _, part := range windows(all) {
		switch decide(part, deadline) {
		case porcupine.Illegal:
			return smallest(part, deadline), porcupine.Illegal
		case porcupine.Unknown:
			result = porcupine.Unknown
		case porcupine.Ok:
		}
	}
	return nil, result
}

// windows cuts the holds, in the order of their returns, into overlapping parts. A hold that has not ended when a part
// begins belongs to that part too.
func windows(all []*hold) [][]*hold {
	if len(all) <= window {
		return [][]*hold{all}
	}
	var parts [][]*hold
	for from := 0; from < len(all); from += window / 2 {
		to := min(from+window, len(all))
		var part []*hold
		for _, h := range all[:from] {
			if h.ended > all[from].acquired.T {
				part = append(part, h)
			}
		}
		parts = append(parts, append(part, all[from:to]...))
		if to == len(all) {
			break
		}
	}
	return parts
}

// smallest removes holds from part as long as no order explains the rest.
func smallest(part []*hold, deadline time.Time) []*hold {
	// Holds after the first inexplicable moment prove nothing.
	n := len(part)
	for lo, hi := 1, n; lo < hi; {
		mid := (lo + hi) / 2
		if decide(part[:mid], deadline) == porcupine.Illegal {
			n, hi = mid, mid
		} else {
			lo = mid + 1
		}
	}
	part = slices.Clone(part[:n])
	for size := len(part) / 2; size >= 1; size /= 2 {
		for i := 0; i+size <= len(part); {
			rest := slices.Concat(part[:i], part[i+size:])
			if decide(rest, deadline) == porcupine.Illegal {
				part = rest
			} else {
				i += size
			}
		}
	}
	return part
}

func decide(part []*hold, deadline time.Time) porcupine.CheckResult {
	left := time.Until(deadline)
	if left <= 0 {
		return porcupine.Unknown
	}
	return porcupine.CheckOperationsTimeout(model, operations(part), left)
}

func operations(part []*hold) []porcupine.Operation {
	worker := func(h *hold) history.ID { return history.ID{Client: h.who.Client, Worker: h.who.Worker} }
	var workers []history.ID // in the order of the picture's lanes
	for _, h := range part {
		workers = append(workers, worker(h))
	}
	slices.SortFunc(workers, func(a, b history.ID) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Worker, b.Worker))
	})
	workers = slices.Compact(workers)
	c := classes{}
	var ops []porcupine.Operation
	for _, h := range part {
		ops = append(ops, c.operations(h, slices.Index(workers, worker(h)))...)
	}
	return ops
}

func proof(holds []*hold) []history.Event {
	var events []history.Event
	for _, h := range holds {
		if h.asked.Kind == history.Invoked {
			events = append(events, *h.asked)
		}
		events = append(events, *h.acquired)
		for _, b := range h.beliefs {
			if b.to.Kind != history.Acquired {
				events = append(events, *b.to)
			}
		}
	}
	history.Sort(events)
	return events
}

// described describes each hold in a few words, with times since begin.
func described(holds []*hold, begin time.Duration) string {
	const most = 4
	var parts []string
	for i, h := range holds {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(holds)-i))
			break
		}
		text := fmt.Sprintf("%s from %s to %s", who(h.who), secs(h.acquired.T-begin), secs(h.ended-begin))
		if h.acquired.Mode != "" && h.acquired.Mode != kinds.Mutex {
			text = h.acquired.Mode + " " + text
		}
		if h.acquired.Fence > 0 {
			text += fmt.Sprintf(" with the token %d", h.acquired.Fence)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// pictured is how many holds the picture shows at most: more are slow to draw and too many to read.
const pictured = 120

// Picture writes porcupine's picture, an HTML page, of one name: the first that no order explains, or else the name
// with the most holds, of which it shows the first ones. It also shows the faults of masters, and returns the name. If
// nothing was ever held, it writes nothing and returns "".
func Picture(w io.Writer, events []history.Event, limit time.Duration) (string, error) {
	var largest nameHolds
	var shown []*hold
	for _, n := range byName(holds(events)) {
		if bad, result := illegal(n.holds, time.Now().Add(limit)); result == porcupine.Illegal {
			largest, shown = n, around(n.holds, bad)
			break
		}
		if len(n.holds) > len(largest.holds) {
			largest = n
		}
	}
	if len(largest.holds) == 0 {
		return "", nil
	}
	if shown == nil {
		shown = largest.holds[:min(pictured, len(largest.holds))]
	}
	_, info := porcupine.CheckOperationsVerbose(model, operations(shown), limit)
	from, to := shown[0].asked.T, shown[len(shown)-1].ended
	for _, o := range Outages(events, history.Healthy) {
		if o.On == "masters" && o.From < to && from < o.To {
			info.AddAnnotations([]porcupine.Annotation{{
				Tag: fmt.Sprintf("master %d", o.Target), Start: int64(max(o.From, from)), End: int64(min(o.To, to)),
				Description: o.Fault, BackgroundColor: "#ffcc66",
			}})
		}
	}
	return largest.name, porcupine.Visualize(model, info, w)
}

// around returns the bad holds among those that came before and after them.
func around(all, bad []*hold) []*hold {
	first, last := slices.Index(all, bad[0]), slices.Index(all, bad[len(bad)-1])
	const context = 8
	near := all[max(0, last-context, first-context):min(len(all), last+context)]
	var shown []*hold
	for _, h := range all {
		if slices.Contains(bad, h) || slices.Contains(near, h) {
			shown = append(shown, h)
		}
	}
	return shown
}
