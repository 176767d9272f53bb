// Package faults has the faults of a run, a seeded plan of them, and the nemesis that carries the plan out.
package faults

import (
	"context"
	"slices"

	"github.com/redlock-go/redlock/chaos/internal/aof"
)

// Side says what a fault hits.
type Side string

const (
	// Masters are hit.
	Masters Side = "masters"
	// Clients are hit.
	Clients Side = "clients"
)

// Traits are what plans and tables need to know of a fault.
type Traits struct {
	// Name is what it is called, and About says what it is, in a line.
	Name, About string
	On          Side
	// Instant: it is over as soon as it has happened. Heal has nothing to do.
	Instant bool
	// Mute: a master cannot be counted on to vote while it lasts.
	Mute bool
	// Restarts: a healed master is another process, whose uptime starts at zero: the restart guard keeps it from
	// voting for a restart window.
	Restarts bool
	// Forgets: a healed master is empty, or knows less than it did.
	Forgets bool
	// Late: what it has held back arrives, and takes effect, when it is healed.
	Late bool
	// Loses is what a crash loses of a master's file.
	Loses aof.Loss
	// Outlasts: it does what it is meant to do only if it lasts longer than a TTL.
	Outlasts bool
	// NeedsPeer: another master must be healthy when it is injected.
	NeedsPeer bool
	// Breaks is the assumption of the lock that does not hold while a master has the fault, and for a TTL after; "" if all
	// do.
	Breaks string
}

// The assumptions that faults break.
const (
	assumesClocks = "within a TTL, no clock gains more than the drift budget on another"
	assumesMemory = "a master forgets nothing unless it restarts"
	assumesAlone  = "a master forgets nothing unless it restarts, and has no other master's votes"
)

// A definition is a fault: its traits, and what it does to masters or to clients.
type definition struct {
	Traits
	masters func(m MasterControl) Effect
	clients func(c ClientControl) Effect
}

// An Effect injects a fault into a target and heals it. A target is the index of a master or of a client, as the traits
// say.
type Effect struct {
	// Available is nil, or says why the fault cannot be injected on this machine.
	Available error
	// Inject begins the fault at one healthy target. Heal ends it, and returns when the target has been set to work
	// again. Heal also works if Inject failed halfway. A fault that is [Traits.Instant] needs none.
	Inject, Heal func(ctx context.Context, target int) error
}

// onMasters defines a fault of masters.
func onMasters(name string, t Traits, effect func(m MasterControl) Effect, about string) definition {
	t.Name, t.About, t.On = name, about, Masters
	return definition{Traits: t, masters: effect}
}

// onClients defines a fault of clients.
func onClients(name string, t Traits, effect func(c ClientControl) Effect, about string) definition {
	t.Name, t.About, t.On = name, about, Clients
	return definition{Traits: t, clients: effect}
}

// catalog has every fault, those of masters first.
var catalog = slices.Concat(ofProcess, ofMemory, ofClock, ofNetwork, ofClients)

// Catalog returns the traits of every fault that there is, those of masters first.
func Catalog() []Traits {
	var all []Traits
	for _, d := range catalog {
		all = append(all, d.Traits)
	}
	return all
}

// Lookup returns the traits of the fault of that name.
func Lookup(name string) (Traits, bool) {
	i := slices.IndexFunc(catalog, func(d definition) bool { return d.Name == name })
	if i < 0 {
		return Traits{}, false
	}
	return catalog[i].Traits, true
}

// Lasts reports whether, after the fault, a master may not vote for a while, or may have lost what it granted.
func (t Traits) Lasts() bool { return t.On == Masters && (t.Restarts || t.Forgets || t.Breaks != "") }

// Unnoticed reports whether a master forgets fence counters, and nothing shows it.
func (t Traits) Unnoticed() bool { return t.Forgets && !t.Restarts }

// Reorders reports whether, after the fault, a later holder may have a smaller fencing token than an earlier one. The
// fault breaks exclusion, or a master forgets fence counters and nothing shows it.
func (t Traits) Reorders() bool { return t.Breaks != "" || t.Unnoticed() }

// Named returns the names of those faults that are so.
func Named(all []Traits, are func(Traits) bool) (names []string) {
	for _, t := range all {
		if are(t) {
			names = append(names, t.Name)
		}
	}
	return names
}

// A Fault can be injected into targets, and healed.
type Fault struct {
	Traits
	Effect
}

// Of returns the faults of these masters and clients, in the order of the catalog. If there is no control of one of
// them, it returns the faults of the other.
func Of(m MasterControl, c ClientControl) (all []*Fault) {
	for _, d := range catalog {
		switch {
		case d.masters != nil && m != nil:
			all = append(all, &Fault{d.Traits, d.masters(m)})
		case d.clients != nil && c != nil:
			all = append(all, &Fault{d.Traits, d.clients(c)})
		}
	}
	return all
}
