package redlock

import (
	"context"
	"slices"
	"time"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// look returns the operation that reports which lock is in the way. If the claim has an intent, it also leaves the
// intent, with the TTL life, at every name that readers hold; a writer's intent it leaves in any case. An intent keeps
// new readers out.
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

// leave returns the operation that removes the claim's intent at every name. With publish, it also publishes a release,
// for the readers that the intent kept out.
func (c *claim) leave(publish bool) *node.Op {
	args := append(make([]any, 0, 1+len(c.names)), c.intent)
	if publish {
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

// leavesIntent returns a function that reports whether an answered look left the intent of a waiter of kind.
func leavesIntent(kind string) func(node.Vote) bool {
	return func(v node.Vote) bool {
		way, _ := v.Data.(obstacle)
		return kind == kindWriter || way.intent
	}
}

// look asks the masters which lock is in the way. With first, it returns as soon as a majority grants or a majority
// denies. The first look of an exclusive waiter creates its intent. If the masters refuse the intent, because the user
// has no right to the keys for it, the waiter looks without an intent from then on.
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

// refusals counts the masters that refused an operation for a reason that only an operator can fix.
func refusals(answers []quorum.Answer) (n int) {
	for _, an := range answers {
		if node.Permanent(an.Vote.Err) {
			n++
		}
	}
	return n
}

// withdraw removes the waiter's intent wherever its looks may have left it. lock is the lock that the waiter acquired;
// nil if it gave up, in which case the readers that the intent kept out get a release message.
func (a *attempts) withdraw(lock *Lock) {
	if a.residue == nil {
		return
	}
	var lease *quorum.Lease
	if lock != nil && a.target.kind != kindMutex {
		lease = lock.lease // its acquisition removes the intent
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
