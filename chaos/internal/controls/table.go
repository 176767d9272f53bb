package controls

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/naive"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// A Control is a lock that is broken on purpose, the traffic and the harm that expose its flaw, and the checker that
// must catch it.
type Control struct {
	Lock, Checker string

	masters, clients int // 0 means 3
	groups           []traffic.Group
	// longest is the longest TTL that a client asks for, if it exceeds those of the groups.
	longest time.Duration
	// ahead is how far the first client's clock is ahead.
	ahead time.Duration
	// replica makes the second master follow the first one until a client promotes it.
	replica bool
	// harm is the harm to masters or clients. It is nil if contention suffices.
	harm harm
	// rounds is the number of rounds of harm. 0 means until the flaw has shown.
	rounds int
	// lasts is the duration of the traffic if there is no harm. 0 means until the flaw has shown.
	lasts time.Duration
	// proof gives the lock under test the same traffic and harm, because the harm could be mistaken for a flaw.
	proof bool

	// instead is the lock that the clients use in place of Lock; "" means Lock.
	instead string
}

// ends reports whether the control has a fixed end.
func (c Control) ends() bool { return c.rounds > 0 || c.lasts > 0 }

// sound returns the control with the lock under test, on at least three masters and with a fixed end.
func (c Control) sound() Control {
	c.instead, c.masters, c.replica = traffic.Quorum, max(c.masters, 3), false
	if !c.ends() {
		c.rounds = 2
	}
	return c
}

// Naive returns the controls of the locks in package naive, in the order of [naive.All].
func Naive() []Control {
	var all []Control
	for _, lock := range naive.All {
		i := slices.IndexFunc(naiveLocks, func(c Control) bool { return c.Lock == lock.Name })
		c := naiveLocks[i]
		c.Checker = lock.Checker
		all = append(all, c)
	}
	return all
}

// Own returns the controls of our own locks that are broken from outside, those that take longest first.
func Own() []Control { return slices.Clone(ownLocks) }

// naiveLocks are the controls of the locks in package naive, which name their checkers themselves.
var naiveLocks = []Control{
	{Lock: "exists-set", masters: 1, groups: mutex(traffic.TTL, moments)},
	{
		Lock: "setnx", masters: 1, clients: 2, groups: mutex(traffic.TTL, short), harm: dies(traffic.Holding), rounds: 1,
		proof: true,
	},
	{
		Lock: naive.SetNXExpire, masters: 1, clients: 2, groups: mutex(traffic.TTL, short), harm: dies(traffic.Between),
		rounds: 1,
	},
	// One client's clock is ahead by more than a TTL, so that every lock seems to have expired.
	{Lock: "getset-clock", masters: 1, groups: mutex(traffic.TTL, short), ahead: 2 * traffic.TTL},
	// Every client holds for 1.6 times the TTL. A second one gets in when the TTL of the first is over, and the first
	// one's unlock lets a third one in.
	{Lock: "set-px-del", masters: 1, groups: mutex(traffic.ShortTTL, overstay)},
	{
		Lock: "failover", masters: 2, replica: true, harm: masterFails, proof: true,
		groups: mutex(traffic.ShortTTL,
			traffic.Hold{Usual: traffic.Span{Least: traffic.ShortTTL / 2, Below: 4 * traffic.ShortTTL / 5}}),
	},
	// A reader that leaves deletes the key of all readers.
	{Lock: "rw-two-keys", masters: 1, groups: readers(traffic.TTL, short)},
	// A reader that leaves after its TTL removes another holder from the count.
	{Lock: "rw-one-hash", masters: 1, groups: readers(traffic.ShortTTL, overstay)},
	{Lock: "reentrant-count", masters: 5, clients: 2, groups: owned, harm: cutByTurns, proof: true},
	{Lock: "semaphore-count", groups: mutex(traffic.TTL, short)},
	{Lock: "semaphore-tokens", groups: permits(2)},
}

// ownLocks are the controls of our own broken locks (see package broken).
var ownLocks = []Control{
	{
		Lock: "no release after failure", Checker: "residue", clients: 2, groups: mutex(traffic.ShortTTL, short),
		longest: outlasting, harm: refuse, rounds: 1, proof: true,
	},
	{Lock: "nothing closed", Checker: "leaks", clients: 2, groups: mutex(traffic.TTL, short), lasts: traffic.TTL / 2},
	// The connection has no goroutine.
	{
		Lock: "connection left open", Checker: "leaks", clients: 2, groups: mutex(traffic.TTL, short),
		lasts: traffic.TTL / 2,
	},
	{
		Lock: "fence counted from one", Checker: "fencing", clients: 2, groups: fenced(traffic.TTL, short), harm: allForget,
		rounds: 1, proof: true,
	},
	{
		Lock: "loss notified 4 s late", Checker: "loss notified", clients: 2, groups: outliving, harm: cutOff, rounds: 1,
		proof: true,
	},
	// Nothing tells the holder. It unlocks when it is done.
	{Lock: "loss never notified", Checker: "loss notified", clients: 2, groups: outliving, harm: cutOff, rounds: 1},
	// The counters have no TTL.
	{
		Lock: "counters that never expire", Checker: "residue", clients: 2, groups: fenced(traffic.TTL, short),
		lasts: traffic.TTL / 2, proof: true,
	},
	// An inner hold gets a token of its own.
	{Lock: "new fence for each nested hold", Checker: "fencing", clients: 2, groups: nested},
	// A late holder overwrites the value of the next holder, which has the same fencing token.
	{
		Lock: "fence that is always 1", Checker: "register", groups: guarded(fenced(traffic.ShortTTL, sometimesLate)),
	},
	// A late holder presents a larger token than the next holder, so the register takes its write.
	{
		Lock: "new fence for each request", Checker: "register", groups: guarded(fenced(traffic.ShortTTL, sometimesLate)),
	},
	{Lock: "no token compared", Checker: "linearizability", groups: mutex(traffic.ShortTTL, overstay)},
	// All leaders lead in term 1.
	{Lock: "election without fencing", Checker: "leaders", groups: elections(short)},
	// A deposed leader presents the term of its successor, so the register takes its write.
	{Lock: "term looked up for each write", Checker: "leaders", groups: elections(sometimesLate)},
	{Lock: "job lock deleted at its end", Checker: "minimum hold", groups: jobs(kinds.Mutex)},
	{Lock: "minimum hold of mutexes only", Checker: "minimum hold", groups: jobs(kinds.Writer)},
	// Each master admits as many holders as there are slots, whichever they ask for.
	{Lock: "slots counted by each master", Checker: "slots", groups: permits(2)},
	{Lock: "slot without a majority", Checker: "slots", groups: permits(1)},
	// Holders of three slots come in together with holders of two. No number of slots is exceeded by holders who asked
	// for that number.
	{Lock: "number of slots not compared", Checker: "slots", groups: permits(2, 3)},
	// No mutex overlaps another one: only a model that knows readers and writers finds it.
	{Lock: "readers admitted despite a writer", Checker: "linearizability", groups: readers(traffic.TTL, short)},
}

// outlasting is a TTL with which a key that was not released still exists at the last inspection.
const outlasting = 5 * time.Second

var (
	moments  = traffic.Hold{Usual: traffic.Span{Least: 0, Below: 10 * time.Millisecond}}
	short    = traffic.Hold{Usual: traffic.Span{Least: 5 * time.Millisecond, Below: 50 * time.Millisecond}}
	overstay = traffic.Hold{Usual: traffic.Span{Least: 8 * traffic.ShortTTL / 5}}
	// sometimesLate is the hold of holders that unlock in time or after the next holder has begun.
	sometimesLate = traffic.Hold{Usual: short.Usual, Rare: overstay.Usual, Chance: 0.4}
)

// owned is traffic on one name that all workers of a client may hold together.
var owned = []traffic.Group{{
	Names: []string{"one"}, Mode: kinds.Reentrant, Owner: traffic.OwnerClient, TTL: 2 * traffic.TTL, Workers: 1,
	Hold: traffic.Hold{Usual: traffic.Span{Least: 3 * traffic.TTL / 2}},
}}

// nested is traffic with nested holds of one owner.
var nested = []traffic.Group{{
	Names: []string{"one"}, Mode: kinds.Reentrant, Owner: traffic.OwnerClient, Depth: 2, TTL: traffic.TTL, Fencing: true,
	Workers: 1, Hold: short,
}}

// outliving is traffic with holds that outlive a lock that is not extended.
var outliving = []traffic.Group{{
	Names: []string{"one"}, TTL: traffic.TTL, Keepalive: true, Workers: 1,
	Hold: traffic.Hold{Usual: traffic.Span{Least: 8 * traffic.TTL}},
}}

// mutex returns traffic on one contended name. Its holders hold for as long as they want, because a naive lock never
// reports a loss.
func mutex(ttl time.Duration, hold traffic.Hold) []traffic.Group {
	return []traffic.Group{{Names: []string{"one"}, TTL: ttl, Hold: hold, Careless: true, Workers: 2}}
}

func readers(ttl time.Duration, hold traffic.Hold) []traffic.Group {
	g := mutex(ttl, hold)
	g[0].Mode, g[0].Writers = traffic.ReadersWriters, 0.4
	return g
}

// permits returns traffic on one semaphore for each number of slots, all on one name.
func permits(slots ...int) []traffic.Group {
	var all []traffic.Group
	for _, n := range slots {
		g := mutex(traffic.TTL, short)[0]
		g.Mode, g.Slots = kinds.Semaphore, n
		all = append(all, g)
	}
	return all
}

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
