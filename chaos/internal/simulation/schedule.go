package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/clock"
)

// Schedule describes one run: the clients, the locks for which they contend, and the faults. A seed determines it.
type Schedule struct {
	Seed    uint64
	Profile string
	Masters int
	Names   []string
	// Move is the period after which the workers move from one name to the next. 0 means that they always choose from
	// all names.
	Move time.Duration
	// Kinds are the kinds of locks from which the workers choose. They choose a kind twice as often if it is listed
	// twice.
	Kinds []string
	// Fencing is the share of locks with a fencing token.
	Fencing float64
	// MinHold is the minimum hold of half of the locks that exclude all others; 0 for none.
	MinHold time.Duration `json:",omitempty"`
	Clients []Client
	// Groups describe what the workers do if the schedule plays a scenario, which Profile then names. Otherwise there
	// are none.
	Groups []traffic.Group `json:",omitempty"`
	// Rates are the rates of the masters' clocks. Those of the clients are in Clients.
	Rates []float64
	// Proxies puts proxies between clients and masters. They deliver whatever was written to them, however late, even
	// if the connection has ended.
	Proxies bool
	// Storm is how long the faults and the contention last.
	Storm time.Duration
	Plan  []faults.Step `json:",omitempty"`
}

// Client is one Locker on a host of its own.
type Client struct {
	Name      string
	TTL       time.Duration
	Keepalive bool
	Timeout   time.Duration // of a node
	Workers   int
	// Hasty is the share of locks for which a worker only tries. Wait is the longest time that it waits for the others.
	Hasty float64
	Wait  time.Duration
	// Stay is the longest time that a worker intends to hold a lock. With Greedy it always intends that time.
	Stay   time.Duration
	Greedy bool
	// Twin makes the client's last master an alias of the first one.
	Twin bool
	// Own makes half of the client's locks use a name that no other client wants.
	Own bool
	// InTurn makes each worker ask for one name after the other. No two workers begin with the same name.
	InTurn bool `json:",omitempty"`
	// Rest is the longest pause of a worker between two locks.
	Rest time.Duration
	// Rate is the rate of the host's clock, and Skew how far the clock is ahead.
	Rate               float64
	Skew               time.Duration
	RetryMin, RetryMax time.Duration
}

// Window returns the restart window of all clients.
func (s Schedule) Window() time.Duration { return s.MaxTTL() + clock.DefaultDrift.Of(s.MaxTTL()) }

// MaxTTL returns the largest TTL of the clients. No minimum hold is longer.
func (s Schedule) MaxTTL() time.Duration {
	return s.most(func(c Client) time.Duration { return c.TTL })
}

func (s Schedule) most(of func(Client) time.Duration) (most time.Duration) {
	for _, c := range s.Clients {
		most = max(most, of(c))
	}
	return most
}

// intentLife returns how long the intent of a client's writer keeps readers out if the writer cannot withdraw it. A
// waiting writer renews its intent when it probes, which it does at least once a second, and more often if its retry
// bounds demand it.
func (c Client) intentLife() time.Duration { return min(c.RetryMax, time.Second) + 3*c.Timeout }

// intentLife returns the largest intentLife of all clients.
func (s Schedule) intentLife() time.Duration { return s.most(Client.intentLife) }

// clientOf returns the index of a worker's client.
func (s Schedule) clientOf(who string) (index int) {
	name, _, _ := strings.Cut(who, ".")
	return slices.IndexFunc(s.Clients, func(c Client) bool { return c.Name == name })
}

// all returns all masters, as the targets of a fault.
func (s Schedule) all() (masters []int) {
	for m := range s.Masters {
		masters = append(masters, m)
	}
	return masters
}

// quiet reports whether the only faults are that clients stop for good, or that their clocks differ.
func (s Schedule) quiet() bool { return s.plansOnly(faults.DriftClient) }

// fair reports whether no fault can make a living client lose a lock. Masters forget at most their scripts, and every
// round trip is shorter than the clients' node timeouts.
func (s Schedule) fair() bool {
	return s.answersWithin(1) && s.plansOnly(faults.DriftClient, faults.FlushScripts, SlowPath)
}

// answersWithin reports whether this many round trips over each slow path are shorter than the clients' node timeouts.
// A request that must wait for the answers to those before it takes two.
func (s Schedule) answersWithin(trips time.Duration) bool {
	for _, step := range s.Plan {
		for _, c := range s.Clients {
			if step.Fault == SlowPath && trips*2*(step.Severity.Delay+step.Severity.Jitter) >= c.Timeout {
				return false
			}
		}
	}
	return true
}

// plansOnly reports whether the plan has no other faults than these, deaths of clients, and wrong times of day, which
// may influence nothing but the smallest fencing token.
func (s Schedule) plansOnly(names ...string) bool {
	return !slices.ContainsFunc(s.Plan, func(step faults.Step) bool {
		return !slices.Contains(names, step.Fault) && step.Fault != SetTimeOfDay && !s.death(step)
	})
}

// plansNone reports whether the plan has none of these faults.
func (s Schedule) plansNone(names ...string) bool {
	return !s.plans(func(t faults.Traits) bool { return slices.Contains(names, t.Name) })
}

// plans reports whether the plan has a fault with such traits.
func (s Schedule) plans(is func(faults.Traits) bool) bool {
	return slices.ContainsFunc(s.Plan, func(step faults.Step) bool { return is(traitsOf(step.Fault)) })
}

// excludes reports whether locks exclude each other even without fencing: no fault of the plan breaks an assumption.
func (s Schedule) excludes() bool {
	return !s.plans(func(t faults.Traits) bool { return t.Breaks != "" })
}

// jumps reports whether a clock that expires keys jumps.
func (s Schedule) jumps() bool { return !s.plansNone(SetClock, faults.ClockForward, faults.ClockBack) }

// forgets reports whether fence counters are lost unnoticed.
func (s Schedule) forgets() bool { return s.plans(faults.Traits.Unnoticed) }

// mixes reports whether there may be readers with and without a fencing token. There must not if a master may have an
// older counter after a restart (see "When counters are lost" in docs/fencing.md): it comes back without its last
// second, or an extension of a permit restores one.
func (s Schedule) mixes() bool {
	permits := slices.Contains(s.Kinds, kinds.Semaphore) ||
		slices.ContainsFunc(s.Groups, func(g traffic.Group) bool { return g.Mode == kinds.Semaphore })
	return s.plansNone(faults.KillMasterTail) && (!permits || !s.plans(func(t faults.Traits) bool { return t.Forgets }))
}

// fenced reports whether a lock of a kind must have a fencing token in a run in which other locks have one: if it is a
// reader's or a writer's.
func (s Schedule) fenced(mode string) bool {
	return !s.mixes() && (mode == kinds.Reader || mode == kinds.Writer)
}

// returns reports whether a released key may exist again, or may never have been released because its holder was
// killed. Such a key expires by its TTL.
func (s Schedule) returns() bool {
	return !s.plansNone(faults.KillMasterTail, faults.FollowMaster,
		faults.KillClient, faults.KillClientHolding, faults.KillClientAcquiring, faults.KillClientReleasing)
}

// ghostsAt reports whether a request may reach the master after its release is no longer repeated. That takes a proxy
// and a lossy path: the proxy keeps retransmitting while the master answers on another connection. A key that such a
// request sets expires by its TTL. The end of a subscription may be just as late.
func (s Schedule) ghostsAt(master int) bool {
	return s.Proxies && slices.ContainsFunc(s.Plan, func(step faults.Step) bool {
		return step.Fault == LossyPath && slices.Contains(step.Targets, master)
	})
}

func (s Schedule) String() string {
	text := fmt.Sprintf("seed %d (%s): %d masters, names %s, %v of storm with %d faults, restart window %v\n",
		s.Seed, s.Profile, s.Masters, strings.Join(s.Names, " "), s.Storm, len(s.Plan), s.Window())
	for _, c := range s.Clients {
		text += fmt.Sprintf("  %s: TTL %v, keepalive %v, clock at %.4f and %v ahead\n",
			c.Name, c.TTL, c.Keepalive, c.Rate, c.Skew.Round(time.Microsecond))
	}
	return text
}
