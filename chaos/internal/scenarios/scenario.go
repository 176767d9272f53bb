// Package scenarios puts the parts of the harness together: a scenario says who locks what, what goes wrong meanwhile, and
// what must hold all the same; a run plays it on real masters and has the checkers judge what came of it.
package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// Masters is how many there are in a run.
const Masters = 5

// Scenario is one story.
type Scenario struct {
	// Name is what it is called, and About says in a line what it is about.
	Name, About string
	// Groups is the traffic.
	Groups []traffic.Group
	// Lock is the lock under test, see [traffic.Config]; "" is ours.
	Lock string
	// Clients is how many processes lock with the lock under test, Foreign how many more do so with redsync.
	Clients, Foreign int
	// Workers is how many goroutines of each client contend for each group that does not say itself.
	Workers int
	// ClockRates are how fast the clocks of the clients run, in turn; empty: right.
	ClockRates []float64
	// Persistence is what the masters keep on disk.
	Persistence backend.Persistence
	// Faults are what the nemesis draws from, by name, and Mode how much at once.
	Faults []string
	Mode   faults.Mode
	// Storm is how long it rages.
	Storm time.Duration
	// Ghosts: in the end, locks are taken and refused behind masters that are frozen.
	Ghosts bool
	// Fault is the row of the table of guarantees that the scenario is; "" if it is none.
	Fault string
	// Promises are what must hold.
	Promises Promises
}

// Column is one of the promises of the lock.
type Column string

// The columns of the table of guarantees.
const (
	Exclusion    Column = "exclusion"
	Fencing      Column = "fencing"
	LossNotified Column = "loss notified"
	Liveness     Column = "liveness"
)

// Columns returns all of them.
func Columns() []Column { return []Column{Exclusion, Fencing, LossNotified, Liveness} }

// columns are the checkers of each column. Those of none must always hold.
var columns = map[string]Column{
	"exclusion": Exclusion, "linearizability": Exclusion,
	"fencing": Fencing, "register": Fencing,
	"loss notified": LossNotified,
	"liveness":      Liveness, "waiting": Liveness,
}

// Promise is what is said of a column.
type Promise struct {
	report.Promise
	// Given is the assumption of a promise that has one.
	Given string
}

// Promises are what is promised in each column; one that is missing is kept.
type Promises map[Column]Promise

var (
	kept = Promise{Promise: report.Kept}
	// broken is not promised, and the scenario must show it broken.
	broken = Promise{Promise: report.NotPromised}
	// open is not promised, and may be kept or not.
	open = Promise{Promise: report.Open}
)

func given(assumption string) Promise {
	return Promise{Promise: report.KeptGiven, Given: assumption}
}

func (p Promises) of(c Column) Promise {
	if promise, ok := p[c]; ok {
		return promise
	}
	return kept
}

// maxTTL is the longest TTL of the traffic.
func (s Scenario) maxTTL() time.Duration {
	var most time.Duration
	for _, g := range s.Groups {
		most = max(most, g.TTL)
	}
	if s.Ghosts {
		most = max(most, ghostTTL)
	}
	return most
}

// Window is the restart window of the clients: it covers the longest TTL and its drift.
func (s Scenario) Window() time.Duration {
	ttl := s.maxTTL()
	return ttl + ttl/100 + 2*time.Millisecond
}

// Bound is how soon after the storm each client must have had each name: the masters killed last must be allowed to
// vote again, what a killed client held must expire, and a waiter must wake up.
func (s Scenario) Bound() time.Duration { return s.Window() + rounding + s.maxTTL() + backoff }

// Nobody may wait for longer than patience and so many TTLs of the name while a majority votes: others hold it meanwhile, and
// some of them die with it, which takes a TTL each. On a machine that was too small for what ran side by side, the slowest
// of some 20 runs came after 7 s where the TTL was 1 s, and after 9 s where it was 6 s, but for one that others starved.
//
// Where each holder keeps a name to the end of its TTL of a second, two who waited came after 10.0 and 10.1 s; others had the
// name 8 and 10 times. That is chance: of 304 times that one of two who waited had seen the name go to others more often than the
// other, it came first in 129. One who loses 20 such draws loses by something else.
const (
	patience = 7 * time.Second
	deaths   = 3
	draws    = 20
)

// allowedWait is how long that is for the names of a group.
func allowedWait(g traffic.Group) time.Duration { return patience + deaths*g.TTL }

// groups is the traffic, more patient than anybody need be.
func (s Scenario) groups() []traffic.Group {
	groups := slices.Clone(s.Groups)
	for i := range groups {
		groups[i].Patience = cmp.Or(groups[i].Patience, allowedWait(groups[i])+5*time.Second)
	}
	return groups
}

// clients is how many client processes there are.
func (s Scenario) clients() int { return s.Clients + s.Foreign }

const (
	// rounding is what a master's uptime in whole seconds may hide, and what the guard waits longer for it.
	rounding = time.Second
	// backoff is the longest pause between two attempts of a waiting Lock.
	backoff = time.Second
	// Grace is how soon nothing may be left on a master.
	Grace = 2 * time.Second
)

// The least that a run can be made of. In a shorter storm an outage and a dead holder leave some names no time.
const (
	LeastStorm   = 5 * time.Second
	LeastClients = 2
)

// check returns nil if the scenario can be played, and otherwise says which value is out of which bound.
func (s Scenario) check() error {
	var errs []error
	if s.Storm < LeastStorm {
		errs = append(errs, fmt.Errorf("duration %v: a storm takes at least %v", s.Storm, LeastStorm))
	}
	if s.clients() < LeastClients {
		errs = append(errs, fmt.Errorf("clients %d: it takes at least %d to contend", s.clients(), LeastClients))
	}
	for _, f := range s.Faults {
		if _, ok := faults.Lookup(f); !ok {
			errs = append(errs, fmt.Errorf("no fault is called %q", f))
		}
	}
	return errors.Join(errs...)
}

// Container reports whether the scenario's fault can be had on containers only.
func (s Scenario) Container() bool {
	switch s.Fault {
	case faults.BlackHole, faults.BlackHoleCommands, faults.BlackHoleAnswers, faults.Unplug:
		return true
	default:
		return false
	}
}

// CheckersOf returns the checkers of a column.
func CheckersOf(c Column) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if columns[name] == c {
			names = append(names, name)
		}
	}
	return names
}
