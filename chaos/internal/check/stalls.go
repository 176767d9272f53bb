package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// life is one life of one client process.
type life struct {
	client string
	number int
}

// harness is the process that no client is.
var harness life

func lifeOf(id history.ID) life { return life{id.Client, id.Life} }

// The faults that stop a client process: at once, and at a moment of its own.
const (
	freezeClient        = "freeze-client"
	freezeClientHolding = "freeze-client-holding"
)

// span is a stretch of time.
type span struct{ from, to time.Duration }

// merge sorts spans and joins those that touch.
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
	// hitch is from which length on a processor that serves nobody may cost those who wait for a lock an attempt: it is half of the
	// time that clients of the harness give a master.
	hitch = 100 * time.Millisecond
	// setback is how long such an attempt puts them back: they pause, and make another one.
	setback = time.Second
)

// lives is what a history says about the processes of clients.
type lives struct {
	stalls map[life][]span
	// unserved is when a process that waits for a lock could not be expected to get it: it did not run, or the machine was away.
	unserved map[life][]span
	away     []span                 // of these: the machine was away, for everybody
	parts    map[life][]span        // when a part of it did not run: what was on one processor
	iced     map[string][]span      // of those, by client: what was done to it
	doomed   map[string][]span      // when it was to stop itself
	last     map[life]time.Duration // when each wrote its last line
}

// livesOf reads when processes did not run: what they noticed themselves, and what was done to them. One that never
// thawed has written nothing since, so that nothing of it is judged. clients are the
// names of the clients by the indices that faults call them by.
func livesOf(events []history.Event, clients []string) lives {
	l := lives{
		stalls: map[life][]span{}, unserved: map[life][]span{}, parts: map[life][]span{}, iced: map[string][]span{}, doomed: map[string][]span{},
		last: map[life]time.Duration{},
	}
	frozen, armed := map[string]time.Duration{}, map[string]time.Duration{}
	for _, e := range events {
		if e.Client != "" && e.Register == "" { // what a register writes of a client, may come when the client is gone
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
			spell(l.iced, frozen, clients, e)
		case e.Fault == freezeClientHolding:
			spell(l.doomed, armed, clients, e)
		}
	}
	l.away = l.hitches()
	for of := range l.last { // a frozen process is one life of its client: the others wrote nothing then
		l.stalls[of] = append(l.stalls[of], l.iced[of.client]...)
	}
	for of := range l.last {
		l.stalls[of] = merge(l.stalls[of])
		l.unserved[of] = merge(slices.Concat(l.stalls[of], l.away))
	}
	return l
}

// hitches returns when the machine was away, each time with the setback that follows: when a processor did not serve a process, and when the
// harness did not run, which all that passes between clients and masters passes through. That a client did not run may be its
// own doing, and is no excuse for others.
func (l lives) hitches() []span {
	all := slices.Clone(l.stalls[harness])
	for of, spans := range l.parts {
		for _, s := range spans {
			if inside(l.iced[of.client], s.from, s.to)+inside(l.doomed[of.client], s.from, s.to) == 0 { // else somebody has stopped it
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

// Stood returns how long the harness did not run at a time, at most.
func Stood(events []history.Event) (longest time.Duration) {
	for _, e := range events {
		if e.Kind == history.Stalled && lifeOf(e.ID()) == harness {
			longest = max(longest, e.Stall)
		}
	}
	return longest
}

// served returns how long the process ran between two moments, on a machine that was there.
func (l lives) served(of life, from, to time.Duration) time.Duration {
	return to - from - inside(l.unserved[of], from, to)
}

// ran returns how long the process ran between two moments.
func (l lives) ran(of life, from, to time.Duration) time.Duration {
	return to - from - inside(l.stalls[of], from, to)
}

// starved returns how long the process, or a part of it, did not run, though nobody had frozen it: others had its processors.
func (l lives) starved(of life, from, to time.Duration) time.Duration {
	all := slices.Concat(l.stalls[of], l.parts[of])
	all = slices.DeleteFunc(all, func(s span) bool { // it has stopped itself, as it was told to
		return inside(l.doomed[of.client], s.from, s.to) > 0
	})
	return max(0, inside(merge(all), from, to)-inside(merge(slices.Clone(l.iced[of.client])), from, to))
}

// spell adds the time from a fault's injection to its healing to those of the clients that it was about. Since has those injected.
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

// inside is how much of the time between two moments spans take that do not overlap.
func inside(spans []span, from, to time.Duration) (sum time.Duration) {
	for _, s := range spans {
		sum += max(0, min(s.to, to)-max(s.from, from))
	}
	return sum
}

// running returns the parts of a stretch of time in which the process ran.
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
