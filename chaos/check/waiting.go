package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/history"
)

// Waiting checks liveness under faults. While a majority of the masters votes, and once it has done so for Recovery:
//   - no acquisition waits for longer than Bound and TTLs allow, whatever comes of it (one with less patience says nothing);
//   - a name that is wanted and not held is somebody's within Recovery.
//
// And whether or not a majority is known to vote: nobody waits for longer than that while others get the same name again
// and again. Time in which the process of the waiter did not run does not count, nor what is beyond Recovery of a time in
// which nobody got the name.
func Waiting(events []history.Event, w Weather) Verdict {
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
				waited = max(waited, alive.ran(lifeOf(a.asked.ID()), from, to))
			}
		}
		if waited > 0 {
			judged++
			slowest = max(slowest, waited)
		}
		others, starved := w.starved(got, a, allowed, alive)
		proof := []history.Event{a.asked}
		if a.answer.Kind != "" {
			proof = append(proof, a.answer)
		}
		switch {
		case starved > allowed:
			v.find(a.asked.Name, proof, "%q: %s waited, and while it ran for %s others got the name %d times; allowed are %v",
				a.asked.Name, who(a.asked.ID()), secs(starved), others, allowed)
		case waited > allowed:
			v.find(a.asked.Name, proof, "%q: %s waited for %s while a majority voted, allowed are %v",
				a.asked.Name, who(a.asked.ID()), secs(waited), allowed)
		}
	}
	w.free(&v, events, all, good, alive)
	v.Looked = fmt.Sprintf("%d of %d acquisitions waited while a majority voted, the slowest for %s, allowed are up to %v; %d times it had to come back",
		judged, len(all), secs(slowest), most, max(0, len(good)-1))
	v.Figures = []Figure{{"slowest wait while a majority voted, in milliseconds", int(slowest.Milliseconds())}}
	return v
}

// starved returns how often others got a name while a waited for it, and how long it ran between the first and the last
// of them. Of a time in which nobody got it, Recovery counts at most: then it was not for the others that a waited.
func (w Weather) starved(
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
		if end-first < 2 || alive.ran(life, all[first].T, all[end-1].T) <= allowed {
			continue
		}
		r := time.Duration(0)
		for i := first + 1; i < end; i++ {
			r += min(alive.ran(life, all[i-1].T, all[i].T), w.Recovery)
		}
		if r > ran {
			times, ran = end-first, r
		}
	}
	return times, ran
}

// free looks for names that were wanted, by a process that ran, and that nobody held or got for Recovery though a majority voted.
func (w Weather) free(v *Verdict, events []history.Event, all []attempt, good []span, alive lives) {
	wanted, taken := map[string][]span{}, map[string][]span{}
	for _, a := range all {
		for _, running := range alive.running(lifeOf(a.asked.ID()), a.span) {
			for _, name := range a.asked.Locked() {
				wanted[name] = append(wanted[name], span{running.from, running.to + w.Retry})
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
		held := merge(taken[name])
		for _, want := range merge(wanted[name]) {
			want.to -= w.Retry
			for _, g := range good {
				from, to := max(want.from, g.from), min(want.to, g.to)
				for _, h := range held {
					if h.to <= from || h.from >= to {
						continue
					}
					w.idle(v, name, from, h.from)
					from = h.to
				}
				w.idle(v, name, from, to)
			}
		}
	}
}

func (w Weather) idle(v *Verdict, name string, from, to time.Duration) {
	if to-from > w.Recovery {
		v.find(name, nil, "%q was wanted, a majority voted, and yet from %s to %s nobody had it; allowed are %v",
			name, moment(from), moment(to), w.Recovery)
	}
}
