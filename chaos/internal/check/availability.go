package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Availability is what [Waiting] has to know of a run to tell how long somebody may have to wait.
type Availability struct {
	// Masters is how many there are.
	Masters int
	// Clients are the names of the clients, by the indices that faults call them by.
	Clients []string
	// Mute are the faults of masters that keep them from voting while they last.
	Mute []string
	// Forget are the faults that do so, too, and after which a master that answers again votes only when Window is over.
	Forget []string
	Window time.Duration
	// Recovery is how soon after a majority votes again somebody must get a name that is free and wanted: what a holder
	// that is gone has left must expire, and a waiter must wake up.
	Recovery time.Duration
	// Idle is how much longer than the longest TTL that anybody asks for on a name it may be free though somebody wants it,
	// once a majority has voted for Recovery: what one who died while he asked has left must expire, and a waiter must wake up.
	Idle time.Duration
	// Bound is how long one acquisition may wait while a majority votes, and TTLs by how many TTLs longer: by the longest that
	// anybody asks for on one of its names, as that is what a holder who dies with the name costs.
	Bound time.Duration
	TTLs  int
	// Draws is how often others must have got the name meanwhile for that to be too long. There is no line across processes: each time that
	// a name comes free, chance decides between those who wait, and where holders are slow that is not often.
	Draws int
	// Retry is how long nobody may ask for a name and it still counts as wanted, as its clients try again and again.
	Retry time.Duration
}

// voting returns the stretches of time in which a majority of the masters voted, as far as the faults tell.
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
	// At one moment, those that fall silent come first.
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

// allowed returns how long an acquisition may wait.
func (w Availability) allowed(a attempt, ttls map[string]time.Duration) time.Duration {
	var longest time.Duration
	for _, name := range a.asked.Locked() {
		longest = max(longest, ttls[name])
	}
	return w.Bound + time.Duration(w.TTLs)*longest
}

// settled returns when waiters may begin to complain in a stretch in which a majority votes: what was before the history
// was healthy, so that the first stretch has nothing to recover from.
func (w Availability) settled(g span) time.Duration {
	if g.from == 0 {
		return 0
	}
	return g.from + w.Recovery
}
