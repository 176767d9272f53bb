package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// operations counts the operations of one client.
type operations struct {
	Client                                                      string
	Lives, Asked, Acquired, Refused, Unanswered, Lost, Released int
	Unconfirmed                                                 int // unlocks that returned an error
}

func countOperations(events []history.Event) []operations {
	by := map[string]*operations{}
	for _, e := range events {
		if e.Client == "" {
			continue
		}
		o := by[e.Client]
		if o == nil {
			o = &operations{Client: e.Client}
			by[e.Client] = o
		}
		o.Lives = max(o.Lives, e.Life+1)
		switch e.Kind {
		case history.Invoked:
			o.Asked++
		case history.Acquired:
			o.Acquired++
		case history.Refused:
			o.Refused++
		case history.Lost:
			o.Lost++
		case history.Released:
			o.Released++
			if e.Err != "" {
				o.Unconfirmed++
			}
		default: // not an operation of a client
		}
	}
	var all []operations
	total := operations{Client: "all"}
	for _, o := range by {
		o.Unanswered = max(0, o.Asked-o.Acquired-o.Refused)
		all = append(all, *o)
		total.Lives += o.Lives
		total.Asked += o.Asked
		total.Acquired += o.Acquired
		total.Refused += o.Refused
		total.Unanswered += o.Unanswered
		total.Lost += o.Lost
		total.Released += o.Released
		total.Unconfirmed += o.Unconfirmed
	}
	slices.SortFunc(all, func(a, b operations) int { return cmp.Compare(a.Client, b.Client) })
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
	asked := map[history.ID]time.Duration{}
	used := -1
	for _, e := range events {
		switch e.Kind {
		case history.Invoked:
			asked[e.ID()] = e.T
		case history.Acquired, history.Refused:
			since, ok := asked[e.ID()]
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
