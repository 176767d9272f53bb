package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Waiting checks liveness under faults. An acquisition that waits longer than allowed (Bound plus TTLs) is a finding if
// other acquisitions got one of its names at least Draws times meanwhile, and if
//   - a majority of the masters voted for all of that time and for Recovery before it, or
//   - the others got the name during all of that time, whether or not a majority is known to vote.
//
// A name that is wanted and free is a finding
//   - after Recovery from the moment at which a majority votes, and
//   - after Idle plus a TTL, once a majority has voted for Recovery.
//
// Time in which the waiting process did not run does not count, nor time in which the machine did not run (see hitches)
// and one second after that. An acquisition that gives up earlier than the bound shows nothing.
func Waiting(events []history.Event, w Availability) Verdict {
	v := on(events, "waiting")
	alive := livesOf(events, w.Clients)
	voting := w.voting(events)
	all := attempts(events, alive)
	acquisitions := acquisitionsByName(events)
	ttls := longestTTLs(all)
	judged := 0
	var slowest, largestBound time.Duration
	for _, a := range all {
		allowed := w.allowed(a, ttls)
		largestBound = max(largestBound, allowed)
		waited := w.waitedWhileVoting(a, voting, alive)
		if waited > 0 {
			judged++
			slowest = max(slowest, waited)
		}
		others, starved := w.starved(acquisitions, a, allowed, alive)
		if others < w.Draws {
			continue
		}
		proof := []history.Event{a.asked}
		if a.answer.Kind != "" {
			proof = append(proof, a.answer)
		}
		switch {
		case starved > allowed:
			v.find(a.asked.Name, proof, "%q: %s waited, and while it ran for %s others got the name %d times; allowed are %v",
				a.asked.Name, who(a.asked.ID()), secs(starved), others, allowed)
		case waited > allowed:
			v.find(
				a.asked.Name,
				proof,
				"%q: %s waited for %s while a majority voted, and others got the name %d times; allowed are %v",
				a.asked.Name,
				who(a.asked.ID()),
				secs(waited),
				others,
				allowed,
			)
		}
	}
	idlest := w.checkFree(&v, events, all, voting, alive, ttls)
	longest := w.longestJudged(all, voting, alive)
	v.Looked = fmt.Sprintf(
		"%d of %d acquisitions waited while a majority voted, the slowest for %s, allowed are up to %v; "+
			"no interval in which they count was longer than %s; %d times it had to come back; "+
			"a wanted name was free for up to %s, allowed are %v and a TTL; the machine was away for %s, setbacks included",
		judged,
		len(all),
		secs(slowest),
		largestBound,
		secs(longest),
		max(0, len(voting)-1),
		secs(idlest),
		w.Idle,
		secs(inside(alive.away, 0, math.MaxInt64)),
	)
	v.Figures = []Figure{
		{"slowest wait while a majority voted, in milliseconds", int(slowest.Milliseconds())},
		{"longest interval in which a wait counts, in milliseconds", int(longest.Milliseconds())},
		{"longest that a wanted name was free while a majority voted, in milliseconds", int(idlest.Milliseconds())},
	}
	return v
}

// acquisitionsByName returns the successful acquisitions of each name, in order of time.
func acquisitionsByName(events []history.Event) map[string][]history.Event {
	acquired := map[string][]history.Event{}
	for _, h := range holds(events) {
		for _, name := range h.acquired.Locked() {
			acquired[name] = append(acquired[name], h.acquired)
		}
	}
	return acquired
}

// waitedWhileVoting returns the longest time that a waited within one interval in which a majority voted. It leaves out
// the first Recovery of the interval.
func (w Availability) waitedWhileVoting(a attempt, voting []span, alive lives) (waited time.Duration) {
	for _, g := range voting {
		if from, to := max(a.from, w.settled(g)), min(a.to, g.to); to > from {
			waited = max(waited, alive.served(lifeOf(a.asked.ID()), from, to))
		}
	}
	return waited
}

// longestJudged returns the longest interval in which a wait can count: a wait lies within one phase and within one
// interval in which a majority voted. If no interval is longer than the bound, the check cannot find anything.
func (w Availability) longestJudged(all []attempt, voting []span, alive lives) (longest time.Duration) {
	phases := map[string]span{}
	for _, a := range all {
		s, ok := phases[a.asked.Phase]
		if !ok {
			s = a.span
		}
		phases[a.asked.Phase] = span{min(s.from, a.from), max(s.to, a.to)}
	}
	for _, s := range phases {
		for _, g := range voting {
			if from, to := max(s.from, w.settled(g)), min(s.to, g.to); to > from {
				longest = max(longest, to-from-inside(alive.away, from, to))
			}
		}
	}
	return longest
}

// starved returns how often others acquired one of a's names while a waited, and how long a's process ran between the
// first and the last of these acquisitions. An interval between two acquisitions counts with Recovery at most: in a
// longer one the name was free or lost, and a did not wait because of the others.
func (w Availability) starved(
	acquisitions map[string][]history.Event, a attempt, allowed time.Duration, alive lives,
) (times int, ran time.Duration) {
	life := lifeOf(a.asked.ID())
	for _, name := range a.asked.Locked() {
		all := acquisitions[name]
		indexAfter := func(t time.Duration) int {
			i, _ := slices.BinarySearchFunc(all, t, func(e history.Event, t time.Duration) int { return cmp.Compare(e.T, t) })
			return i
		}
		first, end := indexAfter(a.from+1), indexAfter(a.to)
		times = max(times, end-first)
		if end-first < 2 || alive.served(life, all[first].T, all[end-1].T) <= allowed {
			continue
		}
		sum := time.Duration(0)
		for i := first + 1; i < end; i++ {
			sum += min(alive.served(life, all[i-1].T, all[i].T), w.Recovery)
		}
		ran = max(ran, sum)
	}
	return times, ran
}
