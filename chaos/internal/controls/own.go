package controls

import (
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
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
	// A late holder overwrites the value of the next holder, which has the same fencing token.
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

// outlasting is a TTL with which a key that was not released still exists at the last inspection.
const outlasting = 5 * time.Second

// sometimesLate is the hold of holders that unlock in time or after the next holder has begun.
var sometimesLate = traffic.Hold{Usual: short.Usual, Rare: overstay.Usual, Chance: 0.4}

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
