// Package scenarios combines the parts of the harness. A scenario declares the traffic, the faults and the promises
// that must hold under them. A run plays it on real masters, and has the checkers judge the history.
package scenarios

import (
	"cmp"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/clock"
)

// Masters is the number of masters in a run.
const Masters = 5

// A Scenario declares traffic, faults and promises.
type Scenario struct {
	// Name is unique. About describes the scenario in one line.
	Name, About string
	Groups      []traffic.Group
	// Lock is the lock under test, see [traffic.Config]; "" is ours.
	Lock string
	// Clients is the number of processes that use the lock under test.
	Clients int
	// Container says that the faults need containers. Virtual says that the scenario is played in virtual time unless it
	// is named.
	Container, Virtual bool
	// Loses is what a crash loses of what the masters keep on disk.
	Loses aof.Loss
	// Faults are the names of the faults that the nemesis draws from. Mode says how many may be injected at a time.
	Faults []string
	Mode   faults.Mode
	// Storm is the length of the phase with faults. On real masters it is extended until it has shown what it must.
	Storm time.Duration
	// Fault is the scenario's row in the table of guarantees; "" if it has none.
	Fault    string
	Promises Promises
	// Rare says that a storm on real masters does not always show what is Broken. Schedules must show it.
	Rare bool
}

// Columns returns the columns of the table of guarantees: the promises of the lock, named after their main checkers.
func Columns() (all []string) {
	for _, c := range check.Catalog() {
		if c.Of == c.Name {
			all = append(all, c.Name)
		}
	}
	return all
}

// columnOf returns the column that a checker judges; "" for a checker that must never find anything.
func columnOf(checker string) string {
	for _, c := range check.Catalog() {
		if c.Name == checker {
			return c.Of
		}
	}
	return ""
}

// A Promise says to what extent a column holds under the faults of a scenario, in the words of the table of guarantees.
type Promise string

const (
	// Kept means that it must hold.
	Kept Promise = "kept"
	// Open means that it is not promised, and may hold or not.
	Open Promise = "not promised"
	// Broken means that it is not promised, and that the scenario must show it broken.
	Broken Promise = "not promised (seen broken)"

	keptGiven Promise = "kept, given "
)

// Given is the promise that must hold under an assumption.
func Given(assumption string) Promise { return keptGiven + Promise(assumption) }

// conditional reports whether the promise has an assumption.
func (p Promise) conditional() bool { return strings.HasPrefix(string(p), string(keptGiven)) }

// Promises has the promise of each column. A column that is missing must hold.
type Promises map[string]Promise

func (p Promises) of(column string) Promise { return cmp.Or(p[column], Kept) }

// maxTTL returns the longest TTL of the traffic, or the longest minimum hold if it is longer.
func (s Scenario) maxTTL() time.Duration {
	var most time.Duration
	for _, g := range s.Groups {
		most = max(most, g.TTL, g.MinHold)
	}
	return most
}

// Window returns the restart window of the clients. It covers the longest TTL and its drift.
func (s Scenario) Window() time.Duration {
	return s.maxTTL() + clock.DefaultDrift.Of(s.maxTTL())
}

// Bound returns the time after the storm within which each client must acquire each name. In this time the masters
// killed last may vote again, the locks of killed clients expire, and a waiter wakes up, even if the machine is busy.
func (s Scenario) Bound() time.Duration { return s.Window() + rounding + s.maxTTL() + backoff + busy }

const (
	// rounding is what a master's uptime in whole seconds may hide, and what the guard waits longer for it.
	rounding = time.Second
	// backoff is the longest pause between two attempts of a waiting Lock.
	backoff = time.Second
	// busy is what a busy machine may add. Only a lock that is stuck exceeds it; virtual time shows smaller delays.
	busy = 30 * time.Second
	// Grace is the time after which no key may be left on a master.
	Grace = 2 * time.Second
)

// The smallest possible run. In a shorter storm an outage and a dead holder leave no time for some names.
const (
	LeastStorm   = 5 * time.Second
	LeastClients = 2
)
