package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Waiting checks liveness under faults. While a majority of the masters votes, and once it has done so for Recovery:
//   - no acquisition waits for longer than Bound and TTLs allow while others get the name Draws times, whatever comes of it (one
//     with less patience says nothing);
//   - a name that is wanted and not held is somebody's within Idle and a TTL. Before, while the majority comes back, it is
//     within Recovery.
//
// And whether or not a majority is known to vote: nobody waits for longer than that while others get the same name that often.
// Time in which the process of the waiter did not run does not count, nor when the machine was away (see hitches), and a second after
// that, nor what is beyond Recovery of a time in which nobody got the name.
func Waiting(events []history.Event, w Availability) Verdict {
	v := on(events, "waiting")
	alive := livesOf(events, w.Clients)
	good := w.voting(events)
	all := attempts(events, alive)
	got := map[string][]history.Event{} // the acquisitions of each name, in order
	for _, h := range holds(events) {
		for _, name := range h.acquired.Locked() {
			got[name] = append(got[name], h.acquired)
		}
	}
	ttls := longestTTLs(all)
	judged := 0
	var slowest, most time.Duration // the most is what is allowed where the most is
	for _, a := range all {
		allowed := w.allowed(a, ttls)
		most = max(most, allowed)
		waited := time.Duration(0)
		for _, g := range good {
			from, to := max(a.from, w.settled(g)), min(a.to, g.to)
			if to > from {
				waited = max(waited, alive.served(lifeOf(a.asked.ID()), from, to))
			}
		}
		if waited > 0 {
			judged++
			slowest = max(slowest, waited)
		}
		others, starved := w.starved(got, a, allowed, alive)
		lost := others >= w.Draws
		proof := []history.Event{a.asked}
		if a.answer.Kind != "" {
			proof = append(proof, a.answer)
		}
		switch {
		case lost && starved > allowed:
			v.find(a.asked.Name, proof, "%q: %s waited, and while it ran for %s others got the name %d times; allowed are %v",
				a.asked.Name, who(a.asked.ID()), secs(starved), others, allowed)
		case lost && waited > allowed:
			v.find(a.asked.Name, proof, "%q: %s waited for %s while a majority voted, and others got the name %d times; allowed are %v",
				a.asked.Name, who(a.asked.ID()), secs(waited), others, allowed)
		}
	}
	idlest := w.free(&v, events, all, good, alive, ttls)
	longest := w.longest(all, good, alive)
	v.Looked = fmt.Sprintf("%d of %d acquisitions waited while a majority voted, the slowest for %s, allowed are up to %v; "+
		"no stretch in which they count was longer than %s; %d times it had to come back; "+
		"a wanted name was free for up to %s, allowed are %v and a TTL; the machine was away for %s, setbacks included",
		judged, len(all), secs(slowest), most, secs(longest), max(0, len(good)-1), secs(idlest), w.Idle, secs(inside(alive.away, 0, math.MaxInt64)))
	v.Figures = []Figure{
		{"slowest wait while a majority voted, in milliseconds", int(slowest.Milliseconds())},
		{"longest stretch in which a wait counts, in milliseconds", int(longest.Milliseconds())},
		{"longest that a wanted name was free while a majority voted, in milliseconds", int(idlest.Milliseconds())},
	}
	return v
}

// longest returns the longest stretch in which a wait counts: as long as a wait can have been, of all that was asked in one
// phase. If it is no longer than what is allowed, no wait can have been too long.
func (w Availability) longest(all []attempt, good []span, alive lives) (longest time.Duration) {
	phases := map[string]span{}
	for _, a := range all {
		s, ok := phases[a.asked.Phase]
		if !ok {
			s = a.span
		}
		phases[a.asked.Phase] = span{min(s.from, a.from), max(s.to, a.to)}
	}
	for _, s := range phases {
		for _, g := range good {
			if from, to := max(s.from, w.settled(g)), min(s.to, g.to); to > from {
				longest = max(longest, to-from-inside(alive.away, from, to))
			}
		}
	}
	return longest
}

// starved returns how often others got a name while a waited for it, and how long it ran between the first and the last
// of them. Of a time in which nobody got it, Recovery counts at most: then it was not for the others that a waited.
func (w Availability) starved(
	got map[string][]history.Event, a attempt, allowed time.Duration, alive lives,
) (times int, ran time.Duration) {
	life := lifeOf(a.asked.ID())
	for _, name := range a.asked.Locked() {
		all := got[name]
		after := func(t time.Duration) int {
			i, _ := slices.BinarySearchFunc(all, t, func(e history.Event, t time.Duration) int { return cmp.Compare(e.T, t) })
			return i
		}
		first, end := after(a.from+1), after(a.to)
		times = max(times, end-first)
		if end-first < 2 || alive.served(life, all[first].T, all[end-1].T) <= allowed {
			continue
		}
		r := time.Duration(0)
		for i := first + 1; i < end; i++ {
			r += min(alive.served(life, all[i-1].T, all[i].T), w.Recovery)
		}
		ran = max(ran, r)
	}
	return times, ran
}

// free looks for names that were wanted, by a process that ran, and that nobody held or got for too long though a majority
// voted. It returns the longest of those times that count when the majority is no longer new.
func (w Availability) free(
	v *Verdict, events []history.Event, all []attempt, good []span, alive lives, ttls map[string]time.Duration,
) (longest time.Duration) {
	wanted, taken := map[string][]span{}, map[string][]span{}
	for _, a := range all {
		for _, running := range alive.running(lifeOf(a.asked.ID()), a.span) {
			for _, name := range a.asked.Locked() {
				wanted[name] = append(wanted[name], running)
			}
		}
	}
	beliefs, _ := byName(holds(events))
	for name, bs := range beliefs {
		for _, b := range bs {
			taken[name] = append(taken[name], span{b.start, b.end})
		}
	}
	for _, name := range sorted(wanted) {
		f := freedom{w, name, merge(wanted[name]), alive.away, w.Idle + ttls[name]}
		held := merge(taken[name])
		for _, want := range f.again() {
			for _, g := range good {
				from, to := max(want.from, g.from), min(want.to, g.to)
				for _, h := range held {
					if h.to <= from || h.from >= to {
						continue
					}
					longest = max(longest, f.judge(v, span{from, h.from}, g))
					from = h.to
				}
				longest = max(longest, f.judge(v, span{from, to}, g))
			}
		}
	}
	return longest
}

// freedom is what has to be known of a name to tell whether it was free for too long.
type freedom struct {
	Availability
	name    string
	wanted  []span // by somebody who ran
	away    []span // the machine was
	allowed time.Duration
}

// again joins the times in which the name was wanted: those who want it ask again and again.
func (f freedom) again() []span {
	joined := make([]span, len(f.wanted))
	for i, s := range f.wanted {
		joined[i] = span{s.from, s.to + f.Retry}
	}
	joined = merge(joined)
	for i := range joined {
		joined[i].to -= f.Retry
	}
	return joined
}

// judge looks at a time in which the name was free, and returns how long somebody who wanted it ran in it when the majority
// was no longer new and the machine was there. That leaves out what a busy machine takes.
func (f freedom) judge(v *Verdict, free, majority span) (ran time.Duration) {
	for _, s := range f.wanted {
		if from, to := max(s.from, free.from, f.settled(majority)), min(s.to, free.to); to > from {
			ran += to - from - inside(f.away, from, to)
		}
	}
	switch {
	case free.to-free.from-inside(f.away, free.from, free.to) > f.Recovery:
		v.find(f.name, nil, "%q was wanted, a majority voted, and yet from %s to %s nobody had it; allowed are %v",
			f.name, moment(free.from), moment(free.to), f.Recovery)
	case ran > f.allowed:
		v.find(f.name, nil,
			"%q was wanted, a majority voted, and yet from %s to %s nobody had it, while who wanted it ran for %s; allowed are %v",
			f.name, moment(free.from), moment(free.to), secs(ran), f.allowed)
	}
	return ran
}
