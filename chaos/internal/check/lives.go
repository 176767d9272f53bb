package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// lifeOf returns the process of a client. A client that is killed starts a new one.
func lifeOf(id history.ID) history.ID { return history.ID{Client: id.Client, Life: id.Life} }

// freezeClient is the fault that freezes a client process at once. One that freezes itself at a crash point notices the
// stall when it thaws.
const freezeClient = "freeze-client"

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

// lives says when the processes of clients ran, according to a history.
type lives struct {
	stalls map[history.ID][]span        // in which the process did not run
	last   map[history.ID]time.Duration // time of the last line that the process wrote
}

// livesOf derives when processes did not run: from the stalls that they noticed themselves, and from the faults that
// froze them. A process that never thawed has written nothing since, so nothing of it is judged. clients are the names
// of the clients; the targets of client faults are indices into it.
func livesOf(events []history.Event, clients []string) lives {
	l := lives{stalls: map[history.ID][]span{}, last: map[history.ID]time.Duration{}}
	for _, e := range events {
		if e.Client != "" && e.Register == "" { // a register may write about a client that is gone
			l.last[lifeOf(e.ID())] = e.T
		}
		if e.Kind == history.Stalled {
			of := lifeOf(e.ID())
			l.stalls[of] = append(l.stalls[of], span{e.T - e.Stall, e.T})
		}
	}
	frozen := map[string][]span{}
	for _, o := range Outages(events, history.Heal) {
		if o.Fault == freezeClient && !o.Open && o.Target < len(clients) {
			frozen[clients[o.Target]] = append(frozen[clients[o.Target]], span{o.From, o.To})
		}
	}
	for of := range l.last { // a frozen process is one life of its client: the others wrote nothing then
		l.stalls[of] = merge(append(l.stalls[of], frozen[of.Client]...))
	}
	return l
}

// ran returns how long the process ran between two times.
func (l lives) ran(of history.ID, from, to time.Duration) time.Duration {
	ran := to - from
	for _, s := range l.stalls[of] { // which do not overlap
		ran -= max(0, min(s.to, to)-max(s.from, from))
	}
	return ran
}

// An Outage is one fault at one target, from its injection until its end.
type Outage struct {
	On, Fault string
	Target    int
	From, To  time.Duration
	// Open says that it did not end. To is then the time of the last event.
	Open bool
}

// Outages returns the faults of a history in the order of their injections. They end with an event of the given kind:
// [history.Heal], or [history.Healthy] when the target answers again. If one fault is injected into a target several
// times, it ends with the last of them.
func Outages(events []history.Event, end history.Kind) []Outage {
	type place struct {
		on, fault string
		target    int
	}
	var all []Outage
	var last time.Duration
	open, injected := map[place]int{}, map[place]int{}
	for _, e := range events {
		last = max(last, e.T)
		for _, target := range e.Targets {
			at := place{e.On, e.Fault, target}
			i, is := open[at]
			switch {
			case e.Kind == history.Inject:
				if injected[at]++; !is {
					open[at] = len(all)
					all = append(all, Outage{On: e.On, Fault: e.Fault, Target: target, From: e.T, Open: true})
				}
			case e.Kind == end && is:
				if injected[at]--; injected[at] == 0 {
					all[i].To, all[i].Open = e.T, false
					delete(open, at)
				}
			}
		}
	}
	for _, i := range open {
		all[i].To = last
	}
	return all
}

// injected reports whether one of the faults was injected.
func injected(events []history.Event, faults []string) bool {
	return slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Kind == history.Inject && slices.Contains(faults, e.Fault)
	})
}
