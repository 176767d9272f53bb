package controls

import (
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// ownLocks are the entries of our own broken locks (see package broken), those that take longest first.
var ownLocks = []entry{
	{
		plan: plan{
			lock: "no release after failure", masters: 3, clients: 2, groups: mutex(traffic.ShortTTL, short),
			longest: outlasting, harm: refuse, rounds: 1,
		},
		checker: "residue", proof: &proof{masters: 3, rounds: 1},
	},
	{
		plan: plan{
			lock: "nothing closed", masters: 3, clients: 2, groups: mutex(traffic.TTL, short), lasts: traffic.TTL / 2,
		},
		checker: "leaks",
	},
	// The connection has no goroutine.
	{
		plan: plan{
			lock: "connection left open", masters: 3, clients: 2, groups: mutex(traffic.TTL, short), lasts: traffic.TTL / 2,
		},
		checker: "leaks",
	},
	{
		plan: plan{
			lock: "fence counted from one", masters: 3, clients: 2, groups: fenced(traffic.TTL, short), harm: allForget,
			rounds: 1,
		},
		checker: "fencing",
		proof:   &proof{masters: 3, rounds: 1},
	},
	{
		plan:    plan{lock: "loss notified 4 s late", masters: 3, clients: 2, harm: cutOff, rounds: 1, groups: outliving},
		checker: "loss notified", proof: &proof{masters: 3, rounds: 1},
	},
	// Nothing tells the holder. It unlocks when it is done.
	{
		plan:    plan{lock: "loss never notified", masters: 3, clients: 2, harm: cutOff, rounds: 1, groups: outliving},
		checker: "loss notified",
	},
	// The counters have no TTL.
	{
		plan: plan{
			lock: "counters that never expire", masters: 3, clients: 2, groups: fenced(traffic.TTL, short),
			lasts: traffic.TTL / 2,
		},
		checker: "residue", proof: &proof{masters: 3, lasts: traffic.TTL / 2},
	},
	// An inner hold gets a token of its own.
	{
		plan:    plan{lock: "new fence for each nested hold", masters: 3, clients: 2, groups: nested},
		checker: "fencing",
	},
	// A late holder overwrites the value of the next holder, which has the same fencing token.
	{
		plan: plan{
			lock: "fence that is always 1", masters: 3, clients: 3, groups: guarded(fenced(traffic.ShortTTL, sometimesLate)),
		},
		checker: "register",
	},
	// A late holder presents a larger token than the next holder, so the register takes its write.
	{
		plan: plan{
			lock: "new fence for each request", masters: 3, clients: 3,
			groups: guarded(fenced(traffic.ShortTTL, sometimesLate)),
		},
		checker: "register",
	},
	{
		plan:    plan{lock: "no token compared", masters: 3, clients: 3, groups: mutex(traffic.ShortTTL, overstay)},
		checker: "linearizability",
	},
	// All leaders lead in term 1.
	{
		plan:    plan{lock: "election without fencing", masters: 3, clients: 3, groups: elections(short)},
		checker: "leaders",
	},
	// A deposed leader presents the term of its successor, so the register takes its write.
	{
		plan:    plan{lock: "term looked up for each write", masters: 3, clients: 3, groups: elections(sometimesLate)},
		checker: "leaders",
	},
	{
		plan:    plan{lock: "job lock deleted at its end", masters: 3, clients: 3, groups: jobs(kinds.Mutex)},
		checker: "minimum hold",
	},
	{
		plan:    plan{lock: "minimum hold of mutexes only", masters: 3, clients: 3, groups: jobs(kinds.Writer)},
		checker: "minimum hold",
	},
	// Each master admits as many holders as there are slots, whichever they ask for.
	{
		plan:    plan{lock: "slots counted by each master", masters: 3, clients: 3, groups: permits(2)},
		checker: "slots",
	},
	{
		plan:    plan{lock: "slot without a majority", masters: 3, clients: 3, groups: permits(1)},
		checker: "slots",
	},
	// Holders of three slots come in together with holders of two. No number of slots is exceeded by holders who asked
	// for that number.
	{
		plan:    plan{lock: "number of slots not compared", masters: 3, clients: 3, groups: permits(2, 3)},
		checker: "slots",
	},
	// No mutex overlaps another one: only a model that knows readers and writers finds it.
	{
		plan:    plan{lock: "readers admitted despite a writer", masters: 3, clients: 3, groups: readers(traffic.TTL, short)},
		checker: "linearizability",
	},
}

// outlasting is a TTL with which a key that was not released still exists at the last inspection.
const outlasting = 5 * time.Second

// sometimesLate is the hold of holders that unlock in time or after the next holder has begun.
var sometimesLate = traffic.Hold{Usual: short.Usual, Rare: overstay.Usual, Chance: 0.4}

// outliving is traffic with holds that outlive a lock that is not extended.
var outliving = []traffic.Group{{
	Names: []string{"one"}, TTL: traffic.TTL, Keepalive: true, Workers: 1,
	Hold: traffic.Hold{Usual: traffic.Span{Least: 5 * traffic.TTL}},
}}

// nested is traffic with nested holds of one owner.
var nested = []traffic.Group{{
	Names: []string{"one"}, Mode: kinds.Reentrant, Owner: traffic.OwnerClient, Depth: 2, TTL: traffic.TTL, Fencing: true,
	Workers: 1, Hold: short,
}}

// elections is traffic with leaders that write under their terms.
func elections(hold traffic.Hold) []traffic.Group {
	g := guarded(fenced(traffic.ShortTTL, hold))
	g[0].Mode = kinds.Leader
	return g
}

// jobs is traffic with locks that keep their name for longer than they are held.
func jobs(mode string) []traffic.Group {
	g := mutex(traffic.TTL, moments)
	g[0].Mode, g[0].MinHold = mode, traffic.TTL/2
	return g
}

func fenced(ttl time.Duration, hold traffic.Hold) []traffic.Group {
	g := mutex(ttl, hold)
	g[0].Fencing = true
	return g
}

// guarded makes holders write to a register that checks fencing tokens.
func guarded(groups []traffic.Group) []traffic.Group {
	groups[0].Register = history.Fenced
	return groups
}
