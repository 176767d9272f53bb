package simulation

import (
	"fmt"
	"slices"
	"time"
)

// judge looks for what must not be in what happened.
func (r *Result) judge(waits []Wait) {
	if overlaps := Exclusion(r.Holds); r.Schedule.excludes() {
		r.Violations = overlaps
	} else {
		r.Overlaps = overlaps
	}
	disorder := Order(r.Holds, !r.Schedule.forgets() && r.Schedule.excludes())
	r.Violations = append(r.Violations, slices.DeleteFunc(disorder, func(v Violation) bool {
		return r.carriedOn(v) || r.cameBack(v) || r.tookOver(v)
	})...)
	attempts := r.attempts()
	r.Violations = append(r.Violations, Sharing(r.Holds, func(first, second Hold) bool {
		excused := !Alone(first, attempts) || r.untold(first, second)
		if excused {
			r.Excused++
		}
		return excused
	})...)
	r.kept()
	if microScenarioOf(r.Schedule) != nil {
		return // what befalls whom is no fault of the schedule there, and judged by the microScenario
	}
	if r.Schedule.quiet() {
		r.idle(waits)
	}
	if r.Schedule.fair() {
		r.alive()
	}
}

// alive: where nothing goes wrong, nobody loses a lock that is kept alive.
func (r *Result) alive() {
	for _, h := range r.Holds {
		client := r.Schedule.clientOf(h.Who)
		dead := slices.ContainsFunc(
			r.Schedule.Faults,
			func(f Fault) bool { return f.Client == client && f.death(r.Schedule) },
		)
		if h.Lost && !dead && h.Keepalive {
			r.Problems = append(r.Problems, Problem{By: ByLiveness, Entry: Entry{At: h.To, Where: h.Who, Text: fmt.Sprintf(
				"lost %q in spite of its keepalive, though all masters answer (%s)", h.Name, h.End)}})
		}
	}
}

// kept: a lock that all masters have forgotten is told lost at its next extension, and not kept from then on because
// they learned it again. An extension that was under way gives it one more TTL.
func (r *Result) kept() {
	wiped := make(map[time.Duration]int)
	for _, f := range r.Schedule.Faults {
		if f.Kind == Wipe {
			wiped[f.At]++
		}
	}
	for at, masters := range wiped {
		for _, h := range r.Holds {
			if masters == r.Schedule.Masters && h.From < at && h.To > at+h.TTL+h.TTL/100 {
				r.Problems = append(r.Problems, Problem{By: ByLossNotified, Entry: Entry{At: h.To, Where: h.Who, Text: fmt.Sprintf(
					"kept %q until %v though all masters forgot it at %v", h.Name, stamp(h.To), stamp(at))}})
			}
		}
	}
}

// attempts are the calls that asked a master for a hold of a reentrant lock, by what the masters saw.
func (r *Result) attempts() []Attempt {
	var all []Attempt
	seat := make(map[string]int) // by token
	for _, e := range r.commands {
		name, owner, token := r.labels.reenters(e)
		if token == "" {
			continue
		}
		at := e.At.Sub(r.start)
		i, ok := seat[token]
		if !ok {
			i = len(all)
			seat[token] = i
			all = append(all, Attempt{Name: name, Owner: owner, Token: token, From: at})
		}
		all[i].To = at
	}
	return all
}

// untold: no majority of the masters could tell the second hold which fencing token the first has. That takes a fault,
// or a client that takes one master for two and so is told by one fewer. Anybody may have felt it: another of the
// owner's calls, on its way for longer than usual, counts one more, and what such a client settles on is told to the
// others.
func (r *Result) untold(first, second Hold) bool {
	s := r.Schedule
	felt := func(f Fault, asked time.Duration) bool {
		return !f.harmless() && f.At <= second.From && f.Until+s.linger(f) >= asked
	}
	trouble := func(master int) bool {
		return slices.ContainsFunc(s.Faults, func(f Fault) bool {
			mine := f.Client < 0 || f.Client == s.clientOf(second.Who)
			return (f.Master == master || f.Master < 0) && mine && felt(f, second.Asked)
		})
	}
	troubled := slices.ContainsFunc(s.Clients, func(c Client) bool { return c.Twin }) ||
		slices.ContainsFunc(s.Faults, func(f Fault) bool { return felt(f, first.Asked) })
	knew := make(map[int]bool)
	for _, e := range r.commands {
		known := fmt.Sprintf("*2\r\n:1\r\n:%d\r\n", first.Fence)
		if slices.Contains(e.Args, second.Token) && r.labels.acquires(e) && e.Reply == known && !trouble(e.Master) {
			knew[e.Master] = true
		}
	}
	return troubled && len(knew) <= s.Masters/2
}

// linger is how long a fault is felt when it has ended: connections are made anew, and who seems to have restarted may
// not vote.
func (s Schedule) linger(f Fault) time.Duration {
	switch f.Kind {
	case Crash, CrashKept, CrashTail, Restart, Follow, Jump, Pace:
		return s.Window + 2*time.Second
	default:
		return 2 * time.Second
	}
}

// idle: where nothing goes wrong, whoever waits for what nobody holds gets it, or another does. A client that dies
// keeps others out for its own TTL at most, however many others renew, and as a waiting writer for as long as its
// intent lives.
func (r *Result) idle(waits []Wait) {
	deadly := func(f Fault) bool { return f.death(r.Schedule) }
	messages := r.Schedule.fair() && !slices.ContainsFunc(r.Schedule.Faults, deadly)
	var most time.Duration
	for _, c := range r.Schedule.Clients {
		retry := c.RetryMax
		if messages { // nobody depends on asking again
			retry = min(retry, time.Second)
		}
		most = max(most, retry+500*time.Millisecond)
	}
	holds := slices.Clone(r.Holds)
	for _, f := range r.Schedule.Faults {
		if !f.death(r.Schedule) {
			continue
		}
		dead := r.Schedule.Clients[f.Client]
		for _, name := range r.Schedule.Names {
			holds = append(holds, Hold{Name: name, From: f.At, To: f.At + max(dead.TTL+dead.TTL/100, r.Schedule.intentLife())})
		}
		waits = slices.DeleteFunc(waits, func(w Wait) bool { return r.Schedule.clientOf(w.Who) == f.Client && w.To >= f.At })
	}
	if w, found := Idle(waits, holds, most); found {
		r.Problems = append(r.Problems, Problem{By: ByLiveness, Entry: Entry{At: w.To, Where: w.Who, Text: fmt.Sprintf(
			"waited for a %s of %q though nobody held it from %v to %v", w.Kind, w.Names, stamp(w.From), stamp(w.To))}})
	}
}

// carriedOn: the second hold has the smaller token of another hold that its owner had before the first, and still has.
// Where the masters that knew the larger one were lost since it was asked for, that one's extensions carry it on.
func (r *Result) carriedOn(v Violation) bool {
	lost := slices.ContainsFunc(r.Schedule.Faults, func(f Fault) bool {
		return (f.Kind == Crash || f.Kind == CrashTail || f.Kind == Restart) &&
			v.First.Asked <= f.At && f.At <= v.Second.From
	})
	return lost && v.First.owned(v.Second) && slices.ContainsFunc(r.Holds, func(h Hold) bool {
		return h.Name == v.First.Name && h.owned(v.First) && h.Fence == v.Second.Fence && h.From <= v.First.From &&
			h.To >= v.First.To
	})
}

// cameBack: the first is a reader that got in beside an owner, whose token readers share, and the second is that
// owner's. That takes masters that forget.
func (r *Result) cameBack(v Violation) bool {
	return !r.Schedule.excludes() && v.First.Kind == Reader && v.First.Fence == v.Second.Fence &&
		slices.ContainsFunc(r.Holds, func(h Hold) bool {
			return h.Name == v.First.Name && h.owned(v.Second) && h.Fence == v.First.Fence && h.From <= v.First.From
		})
}

// tookOver: the second has the token of a hold that it stands beside, which was asked for before the first was there.
// Where counters are lost, a token is as old as the question for it.
func (r *Result) tookOver(v Violation) bool {
	return r.Schedule.forgets() && slices.ContainsFunc(r.Holds, func(h Hold) bool {
		return h.Name == v.Second.Name && h.shared(v.Second) && h.Fence == v.Second.Fence && h.From <= v.Second.From &&
			h.Asked < v.First.From
	})
}
