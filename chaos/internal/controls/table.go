package controls

import (
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/naive"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// plan is one trial: a lock, its masters, the traffic, and the harm.
type plan struct {
	lock    string
	masters int
	clients int
	groups  []traffic.Group
	// longest is the longest TTL that anybody asks for, if it is longer than those of the groups.
	longest time.Duration
	// ahead is how far the clock of the first client is ahead.
	ahead time.Duration
	// replica: the second master follows the first one, until a client promotes it.
	replica bool
	// harm is what is done to masters or clients; nil: contention is enough.
	harm harm
	// rounds is how often harm is done, 0: until it has shown.
	rounds int
	// lasts is how long there is traffic where no harm is done, 0: until the flaw has shown.
	lasts time.Duration
	// again: it was run before, and not properly.
	again bool
}

// ends reports whether the plan has an end of its own.
func (p plan) ends() bool { return p.rounds > 0 || p.lasts > 0 }

// entry is how a broken lock is made to show its flaw.
type entry struct {
	plan
	// checker is who must catch it; "" for a naive lock, which says so itself.
	checker string
	// proof is how the lock under test gets the same; nil: the harm is none that could be mistaken for a flaw.
	proof *proof
}

type proof struct {
	masters, rounds int
	lasts           time.Duration
}

// sound is the same traffic and harm with the lock under test.
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

// mutex is one contended name. Its holders hold for as long as they want, because a naive lock never reports a loss.
func mutex(ttl time.Duration, hold traffic.Hold) []traffic.Group {
	return []traffic.Group{{Names: []string{"one"}, TTL: ttl, Hold: hold, Careless: true, Workers: 2}}
}

func readers(ttl time.Duration, hold traffic.Hold) []traffic.Group {
	g := mutex(ttl, hold)
	g[0].Mode, g[0].Writers = traffic.ReadersWriters, 0.4
	return g
}

// owned is one name that all workers of a client may hold together.
var owned = []traffic.Group{{
	Names: []string{"one"}, Mode: history.ModeReentrant, Owner: traffic.OwnerClient, TTL: 2 * traffic.TTL, Workers: 1,
	Hold: traffic.Hold{Usual: traffic.Span{Least: 3 * traffic.TTL / 2}},
}}

// naiveLocks are how those of package naive are made to show theirs.
var naiveLocks = []entry{
	{plan: plan{lock: "exists-set", masters: 1, clients: 3, groups: mutex(traffic.TTL, moments)}},
	{
		plan: plan{
			lock:    "setnx",
			masters: 1,
			clients: 2,
			groups:  mutex(traffic.TTL, short),
			harm:    dies(traffic.Holding),
			rounds:  1,
		},
		proof: &proof{masters: 3, rounds: 1},
	},
	{
		plan: plan{
			lock:    naive.SetNXExpire,
			masters: 1,
			clients: 2,
			groups:  mutex(traffic.TTL, short),
			harm:    dies(traffic.Between),
			rounds:  1,
		},
	},
	// The clock of one is ahead by more than a TTL: to it every lock has ended.
	{plan: plan{lock: "getset-clock", masters: 1, clients: 3, groups: mutex(traffic.TTL, short), ahead: 2 * traffic.TTL}},
	// Everybody holds for 1.6 times the TTL. The second one comes in when the TTL of the first is over, and the first
	// one's unlock lets a third one in.
	{plan: plan{lock: "set-px-del", masters: 1, clients: 3, groups: mutex(traffic.ShortTTL, overstay)}},
	{
		plan: plan{
			lock:    "failover",
			masters: 2,
			clients: 3,
			replica: true,
			harm:    masterFails,
			groups: mutex(
				traffic.ShortTTL,
				traffic.Hold{Usual: traffic.Span{Least: traffic.ShortTTL / 2, Below: 4 * traffic.ShortTTL / 5}},
			),
		},
		proof: &proof{masters: 3, rounds: 2},
	},
	// A reader that leaves takes the key of all readers with it.
	{plan: plan{lock: "rw-two-keys", masters: 1, clients: 3, groups: readers(traffic.TTL, short)}},
	// One that leaves after its TTL takes another one off the count.
	{plan: plan{lock: "rw-one-hash", masters: 1, clients: 3, groups: readers(traffic.ShortTTL, overstay)}},
	{
		plan:  plan{lock: "reentrant-count", masters: 5, clients: 2, groups: owned, harm: cutByTurns},
		proof: &proof{masters: 5, rounds: 2},
	},
	{plan: plan{lock: "semaphore-count", masters: 3, clients: 3, groups: mutex(traffic.TTL, short)}},
}
