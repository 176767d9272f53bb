package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// A life is one process of a client. A client that is killed starts a new one.
type life struct {
	client string
	number int
}

// harness is the life of the harness's own process.
var harness life

func lifeOf(id history.ID) life { return life{id.Client, id.Life} }

// The faults that freeze a client process: at once, and at a crash point.
const (
	freezeClient        = "freeze-client"
	freezeClientHolding = "freeze-client-holding"
)

// A span is an interval of time.
type span struct{ from, to time.Duration }

// merge sorts spans, and joins those that touch or overlap.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else if s.to > s.from {
			out = append(out, s)
		}
	}
	return out
}

const (
	// hitch is the shortest stall of a processor that may cost a waiting client an attempt: half of the time that clients
	// of the harness wait for a master.
	hitch = 100 * time.Millisecond
	// setback is the time that a lost attempt costs: the client pauses, and tries again.
	setback = time.Second
)

// lives says when the processes of clients ran, according to a history.
type lives struct {
	stalls   map[life][]span        // in which the process did not run
	unserved map[life][]span        // in which it could not get a lock: stalls, and away
	away     []span                 // in which the machine did not run, with a setback after each
	parts    map[life][]span        // in which one processor did not run the threads of the process
	frozen   map[string][]span      // by client: a fault had frozen it
	armed    map[string][]span      // by client: it had a crash point at which it freezes itself
	last     map[life]time.Duration // time of the last line that the process wrote
}

// livesOf derives when processes did not run: from the stalls that they noticed themselves, and from the faults. A
// process that never thawed has written nothing since, so nothing of it is judged. clients are the names of the
// clients; the targets of client faults are indices into it.
func livesOf(events []history.Event, clients []string) lives {
	l := lives{
		stalls:   map[life][]span{},
		unserved: map[life][]span{},
		parts:    map[life][]span{},
		frozen:   map[string][]span{},
		armed:    map[string][]span{},
		last:     map[life]time.Duration{},
	}
	frozenSince, armedSince := map[string]time.Duration{}, map[string]time.Duration{}
	for _, e := range events {
		if e.Client != "" && e.Register == "" { // a register may write about a client that is gone
			l.last[lifeOf(e.ID())] = e.T
		}
		switch {
		case e.Kind == history.Stalled:
			of := lifeOf(e.ID())
			l.stalls[of] = append(l.stalls[of], span{e.T - e.Stall, e.T})
		case e.Kind == history.Starved:
			of := lifeOf(e.ID())
			l.parts[of] = append(l.parts[of], span{e.T - e.Stall, e.T})
		case e.Kind != history.Inject && e.Kind != history.Heal:
		case e.Fault == freezeClient:
			spell(l.frozen, frozenSince, clients, e)
		case e.Fault == freezeClientHolding:
			spell(l.armed, armedSince, clients, e)
		}
	}
	l.away = l.hitches()
	for of := range l.last { // a frozen process is one life of its client: the others wrote nothing then
		l.stalls[of] = append(l.stalls[of], l.frozen[of.client]...)
	}
	for of := range l.last {
		l.stalls[of] = merge(l.stalls[of])
		l.unserved[of] = merge(slices.Concat(l.stalls[of], l.away))
	}
	return l
}

// hitches returns when the machine did not run, each time with the setback after it: when a processor did not run a
// process, and when the harness did not run, through which all traffic between clients and masters passes. A stall of a
// client process is no excuse for others: the client may have caused it.
func (l lives) hitches() []span {
	all := slices.Clone(l.stalls[harness])
	for of, spans := range l.parts {
		for _, s := range spans {
			if inside(
				l.frozen[of.client],
				s.from,
				s.to,
			)+inside(
				l.armed[of.client],
				s.from,
				s.to,
			) == 0 { // else a fault has frozen it
				all = append(all, s)
			}
		}
	}
	all = slices.DeleteFunc(all, func(s span) bool { return s.to-s.from < hitch })
	for i := range all {
		all[i].to += setback
	}
	return merge(all)
}

// Stood returns the longest stall of the harness.
func Stood(events []history.Event) (longest time.Duration) {
	for _, e := range events {
		if e.Kind == history.Stalled && lifeOf(e.ID()) == harness {
			longest = max(longest, e.Stall)
		}
	}
	return longest
}

// served returns how long the process ran between two times while the machine ran.
func (l lives) served(of life, from, to time.Duration) time.Duration {
	return to - from - inside(l.unserved[of], from, to)
}

// ran returns how long the process ran between two times.
func (l lives) ran(of life, from, to time.Duration) time.Duration {
	return to - from - inside(l.stalls[of], from, to)
}

// starved returns how long the process, or a part of it, did not run although no fault had frozen it: other processes
// had its processors.
func (l lives) starved(of life, from, to time.Duration) time.Duration {
	all := slices.Concat(l.stalls[of], l.parts[of])
	all = slices.DeleteFunc(all, func(s span) bool { // it froze itself at a crash point
		return inside(l.armed[of.client], s.from, s.to) > 0
	})
	return max(0, inside(merge(all), from, to)-inside(merge(slices.Clone(l.frozen[of.client])), from, to))
}

// spell handles an Inject or Heal event: it adds the time from injection to healing to the spans of each target. since
// has the faults that are injected and not healed.
func spell(spells map[string][]span, since map[string]time.Duration, clients []string, e history.Event) {
	for _, i := range e.Targets {
		if i < 0 || i >= len(clients) {
			continue
		}
		c := clients[i]
		if from, ok := since[c]; ok && e.Kind == history.Heal {
			spells[c] = append(spells[c], span{from, e.T})
			delete(since, c)
		} else if e.Kind == history.Inject {
			since[c] = e.T
		}
	}
}

// inside returns how much of the time between from and to lies in the spans, which must not overlap.
func inside(spans []span, from, to time.Duration) (sum time.Duration) {
	for _, s := range spans {
		sum += max(0, min(s.to, to)-max(s.from, from))
	}
	return sum
}

// running returns the parts of s in which the process ran.
func (l lives) running(of life, s span) []span {
	var parts []span
	for _, stall := range l.stalls[of] {
		if stall.to <= s.from || stall.from >= s.to {
			continue
		}
		if stall.from > s.from {
			parts = append(parts, span{s.from, stall.from})
		}
		s.from = stall.to
	}
	if s.to > s.from {
		parts = append(parts, s)
	}
	return parts
}
