package redlock

import (
	"context"
	"slices"
	"time"

	"github.com/redlock-go/redlock/node"
)

// look asks what is in the way. A writer leaves its intent, for life, which keeps new readers out meanwhile.
func (c *claim) look(life time.Duration) *node.Op {
	if c.kind == kindMutex {
		return c.scripts.mutex.look.Op("look", readClaim, c.names).About(c.title())
	}
	return entry{c}.script(c.scripts.entry.look, "look", readClaim, c.intent, life.Milliseconds())
}

// leave takes a writer's intent back.
func (c *claim) leave() *node.Op {
	return entry{c}.script(c.scripts.entry.leave, "leave", nil, c.intent, channel(c.names[0]))
}

func (a *attempts) look(ctx context.Context, first bool) (view overview, err error) {
	op := a.claim(newToken(a.owner())).look(a.intentLife())
	answers, err := a.locker.quorum.Read(ctx, op, a.cfg.timeout(), first)
	for _, an := range answers {
		if an.Voted {
			view.add(an.Vote)
		} else {
			view.unread++
		}
	}
	return view, err
}

// overview is what a contender sees when it looks at the masters.
type overview struct {
	free    int             // how many masters would grant
	silent  int             // how many failed to answer
	unread  int             // how many have not answered yet
	lefts   []time.Duration // for how long others would not, where that has an end
	locks   map[string]int  // what is in the way, and on how many masters
	longest obstacle        // what of that stays longest
}

func (o *overview) add(v node.Vote) {
	way, denied := v.Data.(obstacle)
	switch {
	case v.Verdict == node.Granted:
		o.free++
	case v.Verdict == node.Denied && denied:
		if way.left >= 0 {
			o.lefts = append(o.lefts, way.left)
		}
		if o.locks == nil {
			o.locks = make(map[string]int)
		}
		o.locks[way.lock()]++
		if way.left < 0 || (way.left >= o.longest.left && o.longest.left >= 0) {
			o.longest = way
		}
	default:
		o.silent++
	}
}

// most is on how many masters that lock is in the way that has most of them.
func (o *overview) most() (most int) {
	for _, n := range o.locks {
		most = max(most, n)
	}
	return most
}

// unbounded is longer than anybody waits.
const unbounded = time.Duration(1<<63 - 1)

// nth is the n-th smallest of ds, counted from 1; unbounded if there are fewer.
func nth(ds []time.Duration, n int) time.Duration {
	if n > len(ds) {
		return unbounded
	}
	slices.Sort(ds)
	return ds[n-1]
}
