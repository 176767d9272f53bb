package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Availability describes for [Waiting] which faults keep masters from voting in a run, and how long a client may have
// to wait.
type Availability struct {
	// Masters is the number of masters.
	Masters int
	// Clients are the names of the clients. The targets of client faults are indices into it.
	Clients []string
	// Mute are the faults that keep a master from voting while they last.
	Mute []string
	// Forget are the faults that keep a master from voting while they last, and for Window after it answers again.
	Forget []string
	Window time.Duration
	// Recovery is the time within which a client must get a name that is free and wanted, once a majority votes again. In
	// this time the keys of a dead holder expire and a waiter wakes up.
	Recovery time.Duration
	// Idle plus the longest TTL asked for on a name is how long the name may be free while it is wanted, once a majority
	// has voted for Recovery. In this time the keys of a client that died while acquiring expire and a waiter wakes up.
	Idle time.Duration
	// Bound plus TTLs times the longest TTL asked for on one of its names is how long an acquisition may wait while a
	// majority votes. The TTLs are there because a holder that dies blocks its names for its TTL.
	Bound time.Duration
	TTLs  int
	// Draws is how often others must get the name for a long wait to be a finding. There is no queue across processes:
	// each time a name becomes free, chance decides which waiter gets it, and slow holders make that rare.
	Draws int
	// Retry is the longest pause between two attempts of clients after which a name still counts as wanted.
	Retry time.Duration
}

// voting returns the intervals in which a majority of the masters voted, according to the injected faults.
func (w Availability) voting(events []history.Event) []span {
	var end time.Duration
	silent := make([][]span, w.Masters)
	type hit struct {
		master int
		fault  string
	}
	since := map[hit]time.Duration{}
	for _, e := range events {
		end = max(end, e.T)
		mute, forget := slices.Contains(w.Mute, e.Fault), slices.Contains(w.Forget, e.Fault)
		if e.On != "masters" || !mute && !forget {
			continue
		}
		for _, m := range e.Targets {
			at := hit{m, e.Fault}
			begin, down := since[at]
			switch {
			case e.Kind == history.Inject && !down:
				since[at] = e.T
			case e.Kind == history.Healthy && down:
				delete(since, at)
				until := e.T
				if forget {
					until += w.Window
				}
				silent[m] = append(silent[m], span{begin, until})
			}
		}
	}
	for at, begin := range since {
		silent[at.master] = append(silent[at.master], span{begin, end})
	}
	type step struct {
		at    time.Duration
		votes int
	}
	var steps []step
	for _, spans := range silent {
		for _, s := range merge(spans) {
			steps = append(steps, step{s.from, -1}, step{s.to, +1})
		}
	}
	// Of steps at the same time, the lost votes come first.
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.votes, b.votes)) })
	var good []span
	votes, from := w.Masters, time.Duration(0)
	for _, s := range steps {
		before := votes > w.Masters/2
		votes += s.votes
		switch after := votes > w.Masters/2; {
		case before && !after:
			good = append(good, span{from, s.at})
		case !before && after:
			from = s.at
		}
	}
	if votes > w.Masters/2 {
		good = append(good, span{from, end})
	}
	return good
}

// allowed returns the longest time that an acquisition may wait.
func (w Availability) allowed(a attempt, ttls map[string]time.Duration) time.Duration {
	var longest time.Duration
	for _, name := range a.asked.Locked() {
		longest = max(longest, ttls[name])
	}
	return w.Bound + time.Duration(w.TTLs)*longest
}

// settled returns the time from which a wait counts in an interval in which a majority votes: Recovery after its
// beginning. In an interval that begins with the history a wait counts at once, because the masters were healthy
// before.
func (w Availability) settled(g span) time.Duration {
	if g.from == 0 {
		return 0
	}
	return g.from + w.Recovery
}
