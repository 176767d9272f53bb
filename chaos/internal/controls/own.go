package controls

import (
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// ownLocks are how our own lock is made to show what breaks it (see package broken). Those that take longest come
// first.
var ownLocks = []entry{
	// Readers are never gone all at once. Without an intent in their way a writer waits for longer than anybody may.
	// (Writers rest: with intents, those who never do keep readers out.)
	{
		plan: plan{lock: "intents that no writer leaves", masters: 3, clients: 3, groups: []traffic.Group{
			{Names: []string{"one"}, Mode: traffic.ReadersWriters, TTL: traffic.ShortTTL, Workers: 3, Hold: reading},
			{
				Names:   []string{"one"},
				Mode:    traffic.ReadersWriters,
				Writers: 1,
				TTL:     traffic.ShortTTL,
				Workers: 1,
				Hold:    moments,
				Rest:    resting,
			},
		}},
		checker: "waiting", proof: &proof{masters: 3, lasts: 9 * time.Second},
	},
	{
		plan: plan{
			lock: "no release after failure", masters: 3, clients: 2, groups: mutex(traffic.ShortTTL, short),
			longest: outlasting, harm: refuse, rounds: 1,
		},
		checker: "residue", proof: &proof{masters: 3, rounds: 1},
	},
	{
		plan: plan{
			lock:    "nothing closed",
			masters: 3,
			clients: 2,
			groups:  mutex(traffic.TTL, short),
			lasts:   traffic.TTL / 2,
		},
		checker: "leaks",
	},
	{
		plan: plan{
			lock:    "fence counted from one",
			masters: 3,
			clients: 2,
			groups:  fenced(traffic.TTL, short),
			harm:    allForget,
			rounds:  1,
		},
		checker: "fencing",
		proof:   &proof{masters: 3, rounds: 1},
	},
	{
		plan: plan{lock: "loss told much too late", masters: 3, clients: 2, harm: cutOff, rounds: 1, groups: []traffic.Group{
			{
				Names:     []string{"one"},
				TTL:       traffic.TTL,
				Keepalive: true,
				Workers:   1,
				Hold:      traffic.Hold{Usual: traffic.Span{Least: 5 * traffic.TTL}},
			},
		}},
		checker: "loss notified", proof: &proof{masters: 3, rounds: 1},
	},
	// A holder that is late writes what the next one, who has the same token, does not know of.
	{
		plan: plan{
			lock:    "fence that does not count",
			masters: 3,
			clients: 3,
			groups:  guarded(fenced(traffic.ShortTTL, sometimesLate)),
		},
		checker: "register",
	},
	{
		plan:    plan{lock: "no token compared", masters: 3, clients: 3, groups: mutex(traffic.ShortTTL, overstay)},
		checker: "linearizability",
	},
}

// outlasting is a TTL of what is still there when somebody looks for the last time, if it is not released.
const outlasting = 5 * time.Second

var (
	reading = traffic.Hold{Usual: traffic.Span{Least: traffic.ShortTTL / 4, Below: 3 * traffic.ShortTTL / 4}}
	resting = traffic.Span{Least: traffic.ShortTTL, Below: 3 * traffic.ShortTTL}
	// sometimesLate holders unlock in time, or after the next holder has begun.
	sometimesLate = traffic.Hold{Usual: short.Usual, Rare: overstay.Usual, Chance: 0.4}
)

func fenced(ttl time.Duration, hold traffic.Hold) []traffic.Group {
	g := mutex(ttl, hold)
	g[0].Fencing = true
	return g
}

// guarded is a group whose holders write to a register that checks fencing tokens.
func guarded(groups []traffic.Group) []traffic.Group {
	groups[0].Register = history.Fenced
	return groups
}
