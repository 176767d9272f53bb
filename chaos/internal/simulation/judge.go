package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// judge runs all checkers over what was recorded.
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
		return // a micro-scenario injects faults that its schedule does not list, and judges liveness itself
	}
	if r.Schedule.quiet() {
		r.idle(waits)
	}
	if r.Schedule.fair() {
		r.alive()
	}
}

// alive reports every lock with keepalive that a living client lost, though no fault could cause a loss.
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

// kept reports locks that outlived a wipe of all masters. Such a lock is lost at its next extension, even if later
// requests of the holder restore its keys. An extension that was in flight gives it one more TTL.
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

// attempts returns the calls that asked a master for a hold of a reentrant lock, as the masters saw them.
func (r *Result) attempts() []Attempt {
	var all []Attempt
	seat := make(map[string]int) // index into all, by token
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

// untold reports whether no majority of the masters could tell the second hold the first hold's fencing token. That
// takes a fault, or a client that takes one master for two and so learns the token from one fewer. The fault may have
// affected any client: another call of the owner, delayed by it, raises the counter once more, and the token that such
// a call settles on is passed on to the owner's other calls.
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

// linger returns how long a fault has effects after its end: clients must connect again, and a server that seems to
// have restarted does not vote within the restart window.
func (s Schedule) linger(f Fault) time.Duration {
	switch f.Kind {
	case Crash, CrashKept, CrashTail, Restart, Follow, Jump, Pace:
		return s.Window + 2*time.Second
	default:
		return 2 * time.Second
	}
}

// idle reports a client that waits for a free lock for too long, where no fault excuses it. A client that dies keeps
// others out for at most its own TTL, however often others renew their locks, and a dead writer that waited keeps
// readers out for as long as its intent lives.
func (r *Result) idle(waits []Wait) {
	deadly := func(f Fault) bool { return f.death(r.Schedule) }
	messages := r.Schedule.fair() && !slices.ContainsFunc(r.Schedule.Faults, deadly)
	var most time.Duration
	for _, c := range r.Schedule.Clients {
		retry := c.RetryMax
		if messages { // release messages arrive, so long retry bounds do not matter
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

// carriedOn reports whether the second hold has the smaller token of an older hold, which its owner acquired before the
// first hold and kept. If the masters that knew the larger token were lost meanwhile, the extensions of the older hold
// carry the smaller token on.
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

// cameBack reports whether the first hold is a reader that shares the token of an owner's hold, which overlapped, and
// the second hold is that owner's. That happens only if masters forget keys.
func (r *Result) cameBack(v Violation) bool {
	return !r.Schedule.excludes() && v.First.Kind == kinds.Reader && v.First.Fence == v.Second.Fence &&
		slices.ContainsFunc(r.Holds, func(h Hold) bool {
			return h.Name == v.First.Name && h.owned(v.Second) && h.Fence == v.First.Fence && h.From <= v.First.From
		})
}

// tookOver reports whether the second hold has the token of an overlapping hold that was asked for before the first
// hold began. Where counters are lost, a token is only as recent as the call that asked for it.
func (r *Result) tookOver(v Violation) bool {
	return r.Schedule.forgets() && slices.ContainsFunc(r.Holds, func(h Hold) bool {
		return h.Name == v.Second.Name && h.shared(v.Second) && h.Fence == v.Second.Fence && h.From <= v.Second.From &&
			h.Asked < v.First.From
	})
}
