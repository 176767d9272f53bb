package check

import (
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// checkFree finds names that a running process wanted and that stayed free for too long although a majority voted. It
// returns the longest such time after Recovery.
func (w Availability) checkFree(
	v *Verdict, events []history.Event, all []attempt, voting []span, alive lives, ttls map[string]time.Duration,
) (longest time.Duration) {
	wanted := wantedByName(all, alive)
	beliefs, _ := byName(holds(events))
	for _, name := range sorted(wanted) {
		var held []span
		for _, b := range beliefs[name] {
			held = append(held, span{b.start, b.end})
		}
		held = merge(held)
		f := freeName{w, name, merge(wanted[name]), alive.away, w.Idle + ttls[name]}
		for _, want := range f.demand() {
			for _, majority := range voting {
				from, to := max(want.from, majority.from), min(want.to, majority.to)
				for _, h := range held {
					if h.to <= from || h.from >= to {
						continue
					}
					longest = max(longest, f.judge(v, span{from, h.from}, majority))
					from = h.to
				}
				longest = max(longest, f.judge(v, span{from, to}, majority))
			}
		}
	}
	return longest
}

// wantedByName returns the intervals in which a running process tried to acquire each name.
func wantedByName(all []attempt, alive lives) map[string][]span {
	wanted := map[string][]span{}
	for _, a := range all {
		for _, running := range alive.running(lifeOf(a.asked.ID()), a.span) {
			for _, name := range a.asked.Locked() {
				wanted[name] = append(wanted[name], running)
			}
		}
	}
	return wanted
}

// freeName decides whether a name was free for too long.
type freeName struct {
	Availability
	name    string
	wanted  []span        // in which a running process tried to acquire it
	away    []span        // in which the machine did not run
	allowed time.Duration // free while wanted, once a majority has voted for Recovery
}

// demand returns the intervals in which the name was wanted. It joins attempts that are at most Retry apart, because a
// client pauses between two attempts.
func (f freeName) demand() []span {
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

// judge adds a finding if the name was free for too long in this interval, in which a majority voted since
// majority.from. It returns how long a process that wanted the name ran in the interval, without the first Recovery of
// the majority and without the time in which the machine did not run.
func (f freeName) judge(v *Verdict, free, majority span) (ran time.Duration) {
	for _, s := range f.wanted {
		if from, to := max(s.from, free.from, f.settled(majority)), min(s.to, free.to); to > from {
			ran += to - from - inside(f.away, from, to)
		}
	}
	switch {
	case free.to-free.from-inside(f.away, free.from, free.to) > f.Recovery:
		v.find(f.name, nil, "%q was wanted, a majority voted, and yet from %s to %s no client had it; allowed are %v",
			f.name, moment(free.from), moment(free.to), f.Recovery)
	case ran > f.allowed:
		v.find(
			f.name,
			nil,
			"%q was wanted, a majority voted, and yet from %s to %s no client had it, while a client that wanted it ran for %s; allowed are %v",
			f.name,
			moment(free.from),
			moment(free.to),
			secs(ran),
			f.allowed,
		)
	}
	return ran
}
