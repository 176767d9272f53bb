package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// operations counts the operations of one client, a number for each of operationTitles.
type operations struct {
	Client string
	Counts [len(operationTitles)]int
}

var operationTitles = [...]string{
	"lives", "asked", "acquired", "refused", "not answered", "notified of a loss", "unlocked", "of these not confirmed",
}

const lives, asked, acquired, refused, unanswered, lost, unlocked, unconfirmed = 0, 1, 2, 3, 4, 5, 6, 7

var operationOf = map[history.Kind]int{
	history.Invoked: asked, history.Acquired: acquired, history.Refused: refused, history.Lost: lost,
	history.Released: unlocked,
}

// countOperations counts the operations of each client, and of all together.
func countOperations(events []history.Event) (all []operations) {
	by := map[string]*operations{}
	for _, e := range events {
		if e.Client == "" {
			continue
		}
		if by[e.Client] == nil {
			by[e.Client] = &operations{Client: e.Client}
		}
		n := &by[e.Client].Counts
		n[lives] = max(n[lives], e.Life+1)
		if i, is := operationOf[e.Kind]; is {
			n[i]++
		}
		if e.Kind == history.Released && e.Err != "" {
			n[unconfirmed]++
		}
	}
	total := operations{Client: "all"}
	for _, client := range slices.Sorted(maps.Keys(by)) {
		o := by[client]
		o.Counts[unanswered] = max(0, o.Counts[asked]-o.Counts[acquired]-o.Counts[refused])
		all = append(all, *o)
		for i, n := range o.Counts {
			total.Counts[i] += n
		}
	}
	if len(all) > 1 {
		all = append(all, total)
	}
	return all
}

// faults sums up one fault over all its targets. Injecting it into two targets counts as two.
type faults struct {
	Fault, On                  string
	Injected, Recovered, Stays int
	Longest                    time.Duration // longest time from the injection to the target's first reply
}

func outages(events []history.Event) []check.Outage { return check.Outages(events, history.Healthy) }

func countFaults(all []check.Outage) []faults {
	by := map[[2]string]*faults{}
	for _, b := range all {
		k := [2]string{b.On, b.Fault}
		if by[k] == nil {
			by[k] = &faults{Fault: b.Fault, On: b.On}
		}
		f := by[k]
		f.Injected++
		if b.Open {
			f.Stays++
		} else {
			f.Recovered++
		}
		f.Longest = max(f.Longest, (b.To - b.From).Round(time.Millisecond))
	}
	var out []faults
	for _, f := range by {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b faults) int { return cmp.Or(cmp.Compare(b.On, a.On), cmp.Compare(a.Fault, b.Fault)) })
	return out
}

// bucket counts the waits that are no longer than To and longer than the bound of the previous bucket.
type bucket struct {
	To                time.Duration
	Acquired, Refused int
}

func (b bucket) Label() string { return fmt.Sprint(b.To) }

// waits sorts the waits for replies into buckets. Each bound is 2 or 2.5 times the previous one.
func waits(events []history.Event) []bucket {
	var all []bucket
	for d := time.Millisecond; d <= 100*time.Second; d *= 10 {
		all = append(all, bucket{To: d}, bucket{To: 2 * d}, bucket{To: 5 * d})
	}
	begun := map[history.ID]time.Duration{}
	used := -1
	for _, e := range events {
		switch e.Kind {
		case history.Invoked:
			begun[e.ID()] = e.T
		case history.Acquired, history.Refused:
			since, ok := begun[e.ID()]
			if !ok {
				continue
			}
			i := slices.IndexFunc(all, func(b bucket) bool { return e.T-since <= b.To })
			if i < 0 {
				i = len(all) - 1
			}
			used = max(used, i)
			if e.Kind == history.Acquired {
				all[i].Acquired++
			} else {
				all[i].Refused++
			}
		default: // no reply
		}
	}
	return all[:used+1]
}

// Total returns the number of waits.
func (b bucket) Total() int { return b.Acquired + b.Refused }
