package simulation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Schedule is one run: who contends for what, and what befalls them when. A seed fixes it.
type Schedule struct {
	Seed    uint64
	Profile string
	Masters int
	Names   []string
	// Move is how soon the workers turn from one name to the next; 0: they choose from all the time.
	Move time.Duration
	// Kinds are what the workers choose from; one that stands here twice they choose twice as often.
	Kinds []Kind
	// Fencing is the share of locks with a fencing token.
	Fencing float64
	Clients []Client
	// Groups are what the workers do where the schedule plays a scenario, which is its profile; else there are none.
	Groups []Group `json:",omitempty"`
	// Rates are the speeds of the masters' clocks; the clients have theirs.
	Rates []float64
	// Window is the restart window of all clients: it covers the largest TTL.
	Window time.Duration
	// Proxies: clients reach the masters through proxies, which deliver what was written to them, however late, even if
	// the connection has ended.
	Proxies bool
	// Ghosts: in the end, locks are taken and refused behind masters that are frozen.
	Ghosts bool `json:",omitempty"`
	// Storm is how long the faults and the contention last.
	Storm  time.Duration
	Faults []Fault
}

// Client is one Locker on a host of its own.
type Client struct {
	Name      string
	TTL       time.Duration
	Keepalive bool
	// Timeout is what one master may take for one operation.
	Timeout time.Duration
	Workers int
	// Hasty is the share of locks that a worker tries only, and Wait how long it waits for the others, at most.
	Hasty float64
	Wait  time.Duration
	// Stay is how long a worker means to hold a lock, at most. Greedy: always as long.
	Stay   time.Duration
	Greedy bool
	// Twin: what it takes for the last master is the first one, under another address.
	Twin bool
	// Own: half of its locks are on a name that nobody else wants.
	Own bool
	// InTurn: each of its workers asks for one name after the other, and no two begin with the same.
	InTurn bool `json:",omitempty"`
	// Rest is how long a worker pauses between two locks, at most.
	Rest time.Duration
	// Rate is the speed of the host's clock, and Skew how far it is ahead.
	Rate               float64
	Skew               time.Duration
	RetryMin, RetryMax time.Duration
}

// MaxTTL returns the largest TTL of the clients.
func (s Schedule) MaxTTL() time.Duration {
	var most time.Duration
	for _, c := range s.Clients {
		most = max(most, c.TTL)
	}
	return most
}

// intentLife is how long the intent of a client's writer keeps readers out that cannot take it back: until the writer
// would look again, which it does once a second if its retry bounds do not have it look more often.
func (c Client) intentLife() time.Duration { return min(c.RetryMax, time.Second) + 3*c.Timeout }

// intentLife is the longest of all clients.
func (s Schedule) intentLife() time.Duration {
	var most time.Duration
	for _, c := range s.Clients {
		most = max(most, c.intentLife())
	}
	return most
}

// clientOf returns the client by whom a worker works.
func (s Schedule) clientOf(who string) (index int) {
	name, _, _ := strings.Cut(who, ".")
	return slices.IndexFunc(s.Clients, func(c Client) bool { return c.Name == name })
}

// quiet: nothing befalls anybody but that clients stop for good.
func (s Schedule) quiet() bool {
	return !slices.ContainsFunc(s.Faults, func(f Fault) bool { return !f.death(s) && !f.harmless() })
}

// fair: nothing befalls anybody for which a client that lives may lose a lock. Scripts are forgotten at most, and no
// way to a master and back takes longer than the clients wait for it.
func (s Schedule) fair() bool {
	return !slices.ContainsFunc(s.Faults, func(f Fault) bool {
		slow := slices.ContainsFunc(s.Clients, func(c Client) bool { return 2*(f.Delay+f.Jitter) >= c.Timeout })
		return !f.death(s) && !f.harmless() && f.Kind != ScriptFlush && (f.Kind != Delay || slow)
	})
}

// has reports whether something of these kinds befalls a master, or the way to it.
func (s Schedule) has(kinds ...FaultKind) bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool { return !f.harmless() && slices.Contains(kinds, f.Kind) })
}

// excludes: nothing befalls the masters that breaks exclusion without fencing, as the README says: that a clock jumps,
// or runs too fast, by which keys expire, or that keys are lost without a restart. No clock of a client is an excuse.
func (s Schedule) excludes() bool {
	fast := slices.ContainsFunc(s.Faults, func(f Fault) bool {
		return f.Kind == Pace && !f.harmless() && math.Abs(f.Rate-1) > budget
	})
	return !s.jumps() && !fast && !s.has(Wipe, Follow)
}

// budget is the drift budget of the lock, per second.
const budget = 0.01

// jumps: a clock jumps by which keys expire.
func (s Schedule) jumps() bool { return s.has(Jump) }

// forgets: counters of fencing tokens get lost without anybody noticing.
func (s Schedule) forgets() bool { return s.has(Evict, Wipe, Follow) }

// returns: what was released may be there again, or was never released because its holder was killed. It ends with its
// TTL.
func (s Schedule) returns() bool { return s.has(Kill, CrashTail, Follow) }

func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d (%s): %d masters, names %s, %v of storm with %d faults, restart window %v\n",
		s.Seed, s.Profile, s.Masters, strings.Join(s.Names, " "), s.Storm, len(s.Faults), s.Window)
	if len(s.Groups) == 0 {
		fmt.Fprintf(&b, "  kinds %v, %.0f%% with fencing\n", s.Kinds, 100*s.Fencing)
	}
	for _, g := range s.Groups {
		fmt.Fprintf(&b, "  %s of %s, TTL %v\n", g.Kind, strings.Join(g.Names, " "), g.TTL)
	}
	if s.Proxies {
		b.WriteString("  through proxies\n")
	}
	for _, c := range s.Clients {
		keepalive := "keepalive"
		if !c.Keepalive {
			keepalive = "no keepalive"
		}
		if c.Twin {
			keepalive += ", takes the first master for the last one too"
		}
		if c.Greedy {
			keepalive += ", holds to the end"
		}
		if c.InTurn {
			keepalive += ", asks for the names in turn"
		}
		fmt.Fprintf(&b, "  %s: %d workers, TTL %v, %s, clock at %.4f and %v ahead\n",
			c.Name, c.Workers, c.TTL, keepalive, c.Rate, round(c.Skew))
	}
	return b.String()
}
