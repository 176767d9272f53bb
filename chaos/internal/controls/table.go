package controls

import (
	"time"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/naive"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// plan describes one trial: a lock, its masters, the traffic, and the harm.
type plan struct {
	lock    string
	masters int
	clients int
	groups  []traffic.Group
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
	// again says that this is the second run, after one that did not run properly.
	again bool
}

// ends reports whether the plan has a fixed end.
func (p plan) ends() bool { return p.rounds > 0 || p.lasts > 0 }

// entry says how to expose the flaw of a broken lock.
type entry struct {
	plan
	// checker must catch the lock. It is "" for a naive lock, which names its checker itself.
	checker string
	// proof gives the lock under test the same traffic and harm. It is nil if the harm cannot be mistaken for a flaw.
	proof *proof
}

type proof struct {
	masters, rounds int
	lasts           time.Duration
}

// sound returns the plan with the lock under test.
func (e entry) sound() plan {
	p := e.plan
	p.lock, p.masters, p.rounds, p.lasts, p.replica = traffic.Quorum, e.proof.masters, e.proof.rounds, e.proof.lasts, false
	return p
}

var (
	moments  = traffic.Hold{Usual: traffic.Span{Least: 0, Below: 10 * time.Millisecond}}
	short    = traffic.Hold{Usual: traffic.Span{Least: 5 * time.Millisecond, Below: 50 * time.Millisecond}}
	overstay = traffic.Hold{Usual: traffic.Span{Least: 8 * traffic.ShortTTL / 5}}
)

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

// owned is traffic on one name that all workers of a client may hold together.
var owned = []traffic.Group{{
	Names: []string{"one"}, Mode: kinds.Reentrant, Owner: traffic.OwnerClient, TTL: 2 * traffic.TTL, Workers: 1,
	Hold: traffic.Hold{Usual: traffic.Span{Least: 3 * traffic.TTL / 2}},
}}

// naiveLocks are the entries of the locks in package naive.
var naiveLocks = []entry{
	{plan: plan{lock: "exists-set", masters: 1, clients: 3, groups: mutex(traffic.TTL, moments)}},
	{
		plan: plan{
			lock: "setnx", masters: 1, clients: 2, groups: mutex(traffic.TTL, short), harm: dies(traffic.Holding), rounds: 1,
		},
		proof: &proof{masters: 3, rounds: 1},
	},
	{
		plan: plan{
			lock: naive.SetNXExpire, masters: 1, clients: 2, groups: mutex(traffic.TTL, short), harm: dies(traffic.Between),
			rounds: 1,
		},
	},
	// One client's clock is ahead by more than a TTL, so that every lock seems to have expired.
	{plan: plan{lock: "getset-clock", masters: 1, clients: 3, groups: mutex(traffic.TTL, short), ahead: 2 * traffic.TTL}},
	// Every client holds for 1.6 times the TTL. A second one gets in when the TTL of the first is over, and the first
	// one's unlock lets a third one in.
	{plan: plan{lock: "set-px-del", masters: 1, clients: 3, groups: mutex(traffic.ShortTTL, overstay)}},
	{
		plan: plan{
			lock:    "failover",
			masters: 2,
			clients: 3,
			replica: true,
			harm:    masterFails,
			groups: mutex(traffic.ShortTTL,
				traffic.Hold{Usual: traffic.Span{Least: traffic.ShortTTL / 2, Below: 4 * traffic.ShortTTL / 5}}),
		},
		proof: &proof{masters: 3, rounds: 2},
	},
	// A reader that leaves deletes the key of all readers.
	{plan: plan{lock: "rw-two-keys", masters: 1, clients: 3, groups: readers(traffic.TTL, short)}},
	// A reader that leaves after its TTL removes another holder from the count.
	{plan: plan{lock: "rw-one-hash", masters: 1, clients: 3, groups: readers(traffic.ShortTTL, overstay)}},
	{
		plan:  plan{lock: "reentrant-count", masters: 5, clients: 2, groups: owned, harm: cutByTurns},
		proof: &proof{masters: 5, rounds: 2},
	},
	{plan: plan{lock: "semaphore-count", masters: 3, clients: 3, groups: mutex(traffic.TTL, short)}},
	{plan: plan{lock: "semaphore-tokens", masters: 3, clients: 3, groups: permits(2)}},
}
