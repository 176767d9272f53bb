// Package faults has the faults of a run, a seeded plan of them, and the nemesis that carries the plan out.
package faults

import "context"

// A Fault can be injected into a target, and healed. A target is the index of a master or of a client, as the traits
// say.
type Fault interface {
	// Name returns the name in plans and histories.
	Name() string
	// Traits returns the fault's entry in the catalog.
	Traits() Traits
	// Available returns nil, or why the fault cannot be injected on this machine.
	Available() error
	// Inject begins the fault at one healthy target.
	Inject(ctx context.Context, target int) error
	// Heal ends the fault, and returns when the target has been set to work again. It also works if Inject failed halfway.
	Heal(ctx context.Context, target int) error
}

type fault struct {
	traits Traits
	effect
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

// New returns a fault that the catalog lacks. Without heal there is nothing to do.
func New(t Traits, inject, heal func(ctx context.Context, target int) error) Fault {
	return fault{t, effect{inject: inject, heal: heal}}
}

// OnMasters returns the faults of masters, in the order of the catalog.
func OnMasters(m MasterControl) []Fault {
	var all []Fault
	for _, d := range catalog {
		if d.masters != nil {
			all = append(all, fault{d.Traits, d.masters(m)})
		}
	}
	return all
}

// OnClients returns the faults of clients, in the order of the catalog.
func OnClients(c ClientControl) []Fault {
	var all []Fault
	for _, d := range catalog {
		if d.clients != nil {
			all = append(all, fault{d.Traits, d.clients(c)})
		}
	}
	return all
}
