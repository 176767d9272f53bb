package scenarios

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// All returns every scenario: the storms first, and then one for each fault.
func All() []Scenario { return append(storms(), byFault()...) }

// Find returns the scenarios whose names match the pattern, as [path.Match] has it: at least one.
func Find(pattern string) ([]Scenario, error) {
	var found []Scenario
	for _, s := range All() {
		if ok, err := path.Match(pattern, s.Name); err != nil {
			return nil, fmt.Errorf("scenario %q: %w", pattern, err)
		} else if ok {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no scenario is called %q: -h lists them", pattern)
	}
	return found, nil
}

// sound are the faults that break no assumption of the lock, of masters that keep nothing on disk.
var sound = faults.Named(faults.Catalog(), func(t faults.Traits) bool {
	return t.Breaks == "" && t.Loses == aof.Everything
})

// anything are all faults, of masters that keep nothing on disk, but for clocks of clients that drift apart: what is
// promised under all the others rests on them.
var anything = faults.Named(faults.Catalog(), func(t faults.Traits) bool {
	return t.Loses == aof.Everything && t.Name != faults.DriftClient
})

// storms are the scenarios in which many faults meet. Those that differ from every-kind only in their traffic are left
// to virtual time.
func storms() []Scenario {
	storm := func(name, about string, groups []traffic.Group) Scenario {
		return Scenario{
			Name: name, About: about, Groups: groups, Clients: 3, Faults: sound, Mode: faults.Minority,
			Storm: 25 * time.Second, Virtual: true,
		}
	}
	every := storm("every-kind", "all traffic under every fault that breaks no assumption", rested(traffic.Everything))
	every.Virtual, every.Container, every.Storm = false, true, 40*time.Second
	everything := Scenario{
		Name:   "everything",
		About:  "every fault at once, clocks of masters and evictions too: only the fencing tokens hold then",
		Groups: traffic.FencedMutexes, Clients: 3, Faults: anything, Mode: faults.Everything,
		Storm: 30 * time.Second,
		Promises: Promises{
			check.ByExclusion: Open, check.ByLiveness: Open, check.ByFencing: Given(clocksAgree),
		},
	}
	majority := storm("majority", "a majority or all of the masters fail at once, again and again", traffic.FencedMutexes)
	majority.Virtual, majority.Mode = false, faults.Majority
	return []Scenario{
		every, majority, everything,
		storm("mutexes", "plain locks under every fault that breaks no assumption", traffic.Mutexes),
		storm("readers-writers", "readers and writers under every fault that breaks no assumption",
			traffic.ReadersAndWriters),
		storm("reentrants", "reentrant locks under every fault that breaks no assumption", traffic.Reentrants),
		storm("severals", "many names at once under every fault that breaks no assumption", traffic.Severals),
		storm("semaphores", "semaphores under every fault that breaks no assumption", traffic.Semaphores),
		storm("jobs", "minimum holds under every fault that breaks no assumption", traffic.Jobs),
		storm("elections", "elected leaders, who write under their terms, under every fault that breaks no assumption",
			traffic.Elections),
		storm("fenced", "fencing tokens, and registers that look at them and that do not", traffic.FencedMutexes),
	}
}

// rest is so long that several scenarios run side by side.
var rest = traffic.Span{Least: 10 * time.Millisecond, Below: 60 * time.Millisecond}

// probe is the traffic of the scenarios about one fault: a little of each kind, with TTLs so short that a run takes
// no time, and rests so long that several run side by side.
func probe() []traffic.Group {
	const ttl = traffic.TTL
	short := traffic.Hold{
		Usual: traffic.Span{Least: 5 * time.Millisecond, Below: 80 * time.Millisecond},
		Rare:  traffic.Span{Least: ttl / 2, Below: 2 * ttl}, Chance: 0.2,
	}
	long := traffic.Hold{Usual: traffic.Span{Least: ttl / 2, Below: 2 * ttl}}
	over := traffic.Hold{Usual: traffic.Span{Least: 8 * ttl / 5}}
	return rested([]traffic.Group{
		{Names: []string{"kept"}, TTL: ttl, Keepalive: true, Hold: short},
		{Names: []string{"brief"}, TTL: traffic.ShortTTL, Hold: short},
		{Names: []string{"fenced"}, TTL: ttl, Keepalive: true, Fencing: true, Hold: short, Register: history.Fenced},
		{Names: []string{"fenced-over"}, TTL: ttl, Careless: true, Fencing: true, Hold: over, Register: history.Fenced},
		{Names: []string{"trusting"}, TTL: ttl, Hold: short, Register: history.Trusting},
		{
			Names: []string{"doc"}, Mode: traffic.ReadersWriters, Writers: 0.4, TTL: ttl, Keepalive: true,
			Fencing: true, Hold: short,
		},
		{Names: []string{"pool"}, Mode: kinds.Semaphore, Slots: 2, TTL: ttl, Keepalive: true, Fencing: true, Hold: long},
		{Names: []string{"job"}, MinHold: ttl, TTL: ttl, Keepalive: true, Hold: short},
		{
			Names: []string{"leader"}, Mode: kinds.Leader, TTL: ttl, Careless: true, Fencing: true, Hold: over,
			Register: history.Fenced,
		},
	})
}

// Conditions of promises. docs/fencing.md, "When counters are lost", describes all but the last.
const (
	clocksInWindow = "the clients' clocks differ by less than the restart window"
	clocksAgree    = "the clients' clocks agree"
	noOldReader    = "no reader joins one that is older than a writer"
	oneReturn      = "a majority of the masters votes again"
)

// byFault are the rows of the table of guarantees: one fault, of a minority of the masters at a time with outages of
// more, or, where it breaks an assumption of the lock, of a majority, to show what comes of that.
func byFault() []Scenario {
	var all []Scenario
	for _, t := range faults.Catalog() {
		s := Scenario{
			Name: "only-" + t.Name, About: t.About, Fault: t.Name, Groups: probe(), Clients: 3,
			Faults: []string{t.Name}, Mode: faults.Minority, Storm: 10 * time.Second, Loses: t.Loses,
			Container: t.Late, // of the network of a container
		}
		s.Promises = Promises{}
		if t.Mute || t.Restarts {
			s.Promises[check.ByLiveness] = Given(oneReturn)
		}
		if t.Restarts && t.Forgets {
			s.Promises[check.ByFencing] = Given(clocksInWindow)
		}
		if t.Breaks != "" {
			s.Mode = faults.Majority
			s.Promises[check.ByExclusion], s.Promises[check.BySlots], s.Promises[check.ByMinHold] = Broken, Open, Open
			s.Promises[check.ByFencing] = Given(clocksAgree)
			if t.Forgets {
				s.Promises[check.ByFencing] = Given(clocksAgree + ", and " + noOldReader)
			}
		}
		if t.Name == faults.FollowMaster { // most locks are on the one that is followed, too
			s.Promises[check.ByExclusion] = Open
		}
		s.Rare = t.Name == faults.ClockBack
		all = append(all, s)
	}
	return all
}

// Acceptance is the scenario for masters that are the user's: all kinds of traffic, clients that die, freeze, and whose
// clocks drift, and nothing that would need control of a master. It is none of All.
func Acceptance() Scenario {
	return Scenario{
		Name:   "acceptance",
		About:  "every kind of lock on masters of the user's; clients die, freeze and drift, and no master is harmed",
		Groups: rested(slices.DeleteFunc(slices.Clone(traffic.Everything), outlives)), Clients: 3, Mode: faults.Minority,
		Storm:  30 * time.Second,
		Faults: faults.Named(faults.Catalog(), func(t faults.Traits) bool { return t.On == faults.Clients }),
	}
}

// outlives reports whether a group is there to outlive the crash of a master.
func outlives(g traffic.Group) bool { return g.TTL > traffic.TTL }

// rested returns the groups with rests, so that others can use the masters, and this machine has time to run the
// processes that a loss concerns.
func rested(groups []traffic.Group) []traffic.Group {
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].Rest = rest
	}
	return groups
}
