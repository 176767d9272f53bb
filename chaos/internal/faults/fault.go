// Package faults is what goes wrong in a run, and when: faults, a seeded plan of them, and the nemesis that carries the
// plan out.
package faults

import "context"

// Fault is one thing that can be done to a target and undone again. Targets are indices: of masters, or of clients, as
// its traits say.
type Fault interface {
	// Name is what plans and histories call it.
	Name() string
	// Traits are what is known of it beforehand.
	Traits() Traits
	// Available returns nil, or why the fault cannot be had here.
	Available() error
	// Inject begins the fault at one healthy target.
	Inject(ctx context.Context, target int) error
	// Heal ends it, and returns when the target has been told to work again. It also does if Inject failed halfway.
	Heal(ctx context.Context, target int) error
}

type fault struct {
	traits       Traits
	available    error
	inject, heal func(ctx context.Context, target int) error
}

func (f fault) Name() string     { return f.traits.Name }
func (f fault) Traits() Traits   { return f.traits }
func (f fault) Available() error { return f.available }

func (f fault) Inject(ctx context.Context, target int) error { return f.inject(ctx, target) }

func (f fault) Heal(ctx context.Context, target int) error {
	if f.heal == nil {
		return nil
	}
	return f.heal(ctx, target)
}

// made is a fault of the catalog.
func made(name string, available error, inject, heal func(ctx context.Context, target int) error) Fault {
	t, ok := Lookup(name)
	if !ok {
		panic("faults: not in the catalog: " + name)
	}
	return fault{traits: t, available: available, inject: inject, heal: heal}
}

// OnMasters returns the faults that masters can have, in the order of the catalog.
func OnMasters(m MasterControl) []Fault {
	var all []Fault
	for _, some := range [][]Fault{ofProcess(m), ofMemory(m), ofClock(m), ofNetwork(m)} {
		all = append(all, some...)
	}
	return all
}
