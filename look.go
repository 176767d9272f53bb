package redlock

import (
	"context"
	"slices"
	"time"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// look asks what is in the way, and leaves the claim's intent, if it has one, for life: at every name that readers hold, or
// as a writer's in any case. An intent keeps new readers out.
func (c *claim) look(life time.Duration) *node.Op {
	if c.kind != kindMutex {
		return entry{c}.script(c.scripts.entry.look, "look", readClaim(len(c.names)), c.intent, life.Milliseconds())
	}
	keys := c.names
	if c.intent != "" {
		keys = slices.Concat(c.names, c.intentKeys())
	}
	return c.scripts.mutex.look.Op("look", readClaim(len(c.names)), keys, c.intent, life.Milliseconds()).About(c.title())
}

// leave takes the claim's intent back at every name. tell: the readers that it kept out are told.
func (c *claim) leave(tell bool) *node.Op {
	args := append(make([]any, 0, 1+len(c.names)), c.intent)
	if tell {
		for _, name := range c.names {
			args = append(args, channel(name))
		}
	}
	return c.scripts.leave.Op("leave", nil, c.intentKeys(), args...).About(c.title())
}

func (c *claim) intentKeys() []string {
	keys := make([]string, len(c.names))
	for i, name := range c.names {
		keys[i] = intentKey(name)
	}
	return keys
}

// leavesIntent reports whether an answered look left the intent of a waiter of that kind.
func leavesIntent(kind string) func(node.Vote) bool {
	return func(v node.Vote) bool {
		way, _ := v.Data.(obstacle)
		return kind == kindWriter || way.intent
	}
}

// look asks the masters what is in the way; with first, until a majority says one thing. The first look of an exclusive waiter
// makes its intent. If a majority refuses the intent (a user without a right to the keys beside the name), the waiter looks
// without one from then on.
func (a *attempts) look(ctx context.Context, first bool) (overview, error) {
	if a.mayIntend && a.intent == "" {
		a.intent = newToken(a.cfg.owner)
		a.residue = a.locker.quorum.NewResidue(leavesIntent(a.target.kind))
	}
	op := a.claim(newToken(a.owner())).look(a.intentLife())
	if a.intent == "" {
		answers, err := a.locker.quorum.Read(ctx, op, a.cfg.timeout(), first)
		return overviewOf(answers), err
	}
	answers, err := a.locker.quorum.Probe(ctx, op, a.cfg.timeout(), first, a.residue)
	if err != nil && a.target.kind == kindMutex && refusals(answers) > 0 {
		a.withdraw(nil)
		a.mayIntend = false
		return a.look(ctx, first)
	}
	return overviewOf(answers), err
}

// refusals counts the masters that refused an operation for a reason that an operator must remove.
func refusals(answers []quorum.Answer) (n int) {
	for _, an := range answers {
		if node.Permanent(an.Vote.Err) {
			n++
		}
	}
	return n
}

// withdraw takes the waiter's intent back wherever its looks may have left it. A waiter that gave up has no lock; the readers
// that it kept out are told.
func (a *attempts) withdraw(lock *Lock) {
	if a.residue == nil {
		return
	}
	var lease *quorum.Lease
	if lock != nil && a.target.kind != kindMutex {
		lease = lock.lease // its operations remove the intent
	}
	op := a.claim("").leave(lock == nil)
	a.locker.quorum.Withdraw(op, a.cfg.timeout(), a.intentLife(), a.residue, lease)
	a.intent, a.residue = "", nil
}

func overviewOf(answers []quorum.Answer) (view overview) {
	for _, an := range answers {
		if an.Voted {
			view.add(an.Vote)
		} else {
			view.unread++
		}
	}
	return view
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
