package simulation

import (
	"fmt"
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
	// Rates are the speeds of the masters' clocks; the clients have theirs.
	Rates []float64
	// Window is the restart window of all clients: it covers the largest TTL.
	Window time.Duration
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
	// Own: half of its locks are on a name that nobody else wants.
	Own bool
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

// intentLife is how long the intent of a writer keeps readers out that cannot take it back.
func (s Schedule) intentLife() time.Duration {
	var most time.Duration
	for _, c := range s.Clients {
		most = max(most, min(c.RetryMax, time.Second)+3*c.Timeout)
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
	return !slices.ContainsFunc(s.Faults, func(f Fault) bool { return !f.death(s) })
}

// forgets: counters of fencing tokens get lost without anybody noticing.
func (s Schedule) forgets() bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind == Evict })
}

func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d (%s): %d masters, names %s, %v of storm with %d faults, restart window %v\n",
		s.Seed, s.Profile, s.Masters, strings.Join(s.Names, " "), s.Storm, len(s.Faults), s.Window)
	fmt.Fprintf(&b, "  kinds %v, %.0f%% with fencing\n", s.Kinds, 100*s.Fencing)
	for _, c := range s.Clients {
		keepalive := "keepalive"
		if !c.Keepalive {
			keepalive = "no keepalive"
		}
		if c.Greedy {
			keepalive += ", holds to the end"
		}
		fmt.Fprintf(&b, "  %s: %d workers, TTL %v, %s, clock at %.4f and %v ahead\n",
			c.Name, c.Workers, c.TTL, keepalive, c.Rate, round(c.Skew))
	}
	return b.String()
}
