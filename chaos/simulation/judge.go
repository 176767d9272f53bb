package simulation

import (
	"fmt"
	"slices"
	"time"
)

// judge looks for what must not be in what happened.
func (r *Result) judge(waits []Wait) {
	r.Violations = Exclusion(r.Holds)
	r.Violations = append(r.Violations, slices.DeleteFunc(Order(r.Holds, !r.Schedule.forgets()), r.counted)...)
	r.Violations = append(r.Violations, Sharing(r.Holds, r.excused)...)
	if r.Schedule.quiet() {
		r.idle(waits)
	}
}

// counted: where a master lost its counters, a reader takes what an attempt that the restart guard refused has counted there
// since, and that may be less than a writer had before. docs/fencing.md says so, under "When counters are lost".
func (r *Result) counted(v Violation) bool {
	lost := slices.ContainsFunc(r.Schedule.Faults, func(f Fault) bool {
		return (f.Kind == Crash || f.Kind == Restart || f.Kind == Evict) && f.At <= v.Second.From
	})
	return lost && v.Second.Kind == Reader
}

// excused: no majority of the masters could tell the second hold which fencing token the first has. That takes a fault.
func (r *Result) excused(first, second Hold) bool {
	s := r.Schedule
	linger := s.Window + 2*time.Second // a fault is felt a while longer
	trouble := func(master int) bool {
		return slices.ContainsFunc(s.Faults, func(f Fault) bool {
			concerns := f.Client < 0 || f.Client == s.clientOf(second.Who)
			return concerns && (f.Master == master || f.Master < 0) && f.At <= second.From && f.Until >= second.Asked-linger
		})
	}
	troubled := slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.At <= second.From && f.Until >= first.Asked-linger })
	knew := make(map[int]bool)
	for _, e := range r.commands {
		known := fmt.Sprintf("*2\r\n:1\r\n:%d\r\n", first.Fence)
		if slices.Contains(e.Args, second.Token) && r.labels.acquires(e) && e.Reply == known && !trouble(e.Master) {
			knew[e.Master] = true
		}
	}
	if troubled && len(knew) <= s.Masters/2 {
		r.Excused++
		return true
	}
	return false
}

// idle: where nothing goes wrong, whoever waits for what nobody holds gets it, or another does. A client that dies keeps
// others out for its own TTL at most, however many others renew, and as a waiting writer for as long as its intent lives.
func (r *Result) idle(waits []Wait) {
	var most time.Duration
	for _, c := range r.Schedule.Clients {
		most = max(most, c.RetryMax+500*time.Millisecond)
	}
	holds := slices.Clone(r.Holds)
	for _, f := range r.Schedule.Faults {
		dead := r.Schedule.Clients[f.Client]
		for _, name := range r.Schedule.Names {
			holds = append(holds, Hold{Name: name, From: f.At, To: f.At + max(dead.TTL+dead.TTL/100, r.Schedule.intentLife())})
		}
		waits = slices.DeleteFunc(waits, func(w Wait) bool { return r.Schedule.clientOf(w.Who) == f.Client && w.To >= f.At })
	}
	if w, found := Idle(waits, holds, most); found {
		r.Problems = append(r.Problems, Entry{At: w.To, Where: w.Who, Text: fmt.Sprintf(
			"waited for a %s of %q though nobody held it from %v to %v", w.Kind, w.Names, stamp(w.From), stamp(w.To))})
	}
}
