// Package faults has the faults of a run, a seeded plan of them, and the nemesis that carries the plan out.
package faults

import "context"

// A Fault can be injected into a target, and healed. A target is the index of a master or of a client, as the traits
// say.
type Fault struct {
	Traits
	effect
}

// Available returns nil, or why the fault cannot be injected on this machine.
func (f *Fault) Available() error { return f.available }

// Inject begins the fault at one healthy target.
func (f *Fault) Inject(ctx context.Context, target int) error { return f.inject(ctx, target) }

// Heal ends the fault, and returns when the target has been set to work again. It also works if Inject failed halfway.
func (f *Fault) Heal(ctx context.Context, target int) error {
	if f.heal == nil {
		return nil
	}
	return f.heal(ctx, target)
}

// New returns a fault that the catalog lacks. Without heal there is nothing to do.
func New(t Traits, inject, heal func(ctx context.Context, target int) error) *Fault {
	return &Fault{t, effect{inject: inject, heal: heal}}
}

// OnMasters returns the faults of masters, in the order of the catalog.
func OnMasters(m MasterControl) (all []*Fault) {
	for _, d := range catalog {
		if d.masters != nil {
			all = append(all, &Fault{d.Traits, d.masters(m)})
		}
	}
	return all
}

// OnClients returns the faults of clients, in the order of the catalog.
func OnClients(c ClientControl) (all []*Fault) {
	for _, d := range catalog {
		if d.clients != nil {
			all = append(all, &Fault{d.Traits, d.clients(c)})
		}
	}
	return all
}
