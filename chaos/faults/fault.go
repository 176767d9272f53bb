// Package faults is what goes wrong in a run, and when: faults, a seeded plan of them, and the nemesis that carries the
// plan out.
package faults

import "context"

// Fault is one thing that can be done to a target and undone again. Targets are indices: of masters, or of clients, as
// On says.
type Fault interface {
	// Name is what plans and histories call it.
	Name() string
	// On says what its targets are.
	On() Side
	// Available returns nil, or why the fault cannot be had here.
	Available() error
	// Inject begins the fault at one healthy target.
	Inject(ctx context.Context, target int) error
	// Heal ends it, and returns when the target has been told to work again.
	Heal(ctx context.Context, target int) error
}

// Side says whom a fault hits.
type Side string

const (
	// Masters are hit.
	Masters Side = "masters"
	// Clients are hit.
	Clients Side = "clients"
)

// The faults of this package.
const (
	// KillMaster ends a master at once; healed, it comes back empty, and may not vote for a restart window.
	KillMaster = "kill-master"
	// PauseMaster freezes a master: its connections stay open and silent. Healed, it does all that was asked meanwhile.
	PauseMaster = "pause-master"
	// KillClient ends a client process at once, whatever it holds; healed, another life of it begins.
	KillClient = "kill-client"
	// FreezeClient stops a client process for longer than a TTL; healed, it goes on as if nothing had happened.
	FreezeClient = "freeze-client"
)

type fault struct {
	name         string
	on           Side
	available    error
	inject, heal func(ctx context.Context, target int) error
}

func (f fault) Name() string                                 { return f.name }
func (f fault) On() Side                                     { return f.on }
func (f fault) Available() error                             { return f.available }
func (f fault) Inject(ctx context.Context, target int) error { return f.inject(ctx, target) }
func (f fault) Heal(ctx context.Context, target int) error   { return f.heal(ctx, target) }

// MasterControl is what the faults of masters need.
type MasterControl interface {
	Kill(ctx context.Context, master int) error
	Start(ctx context.Context, master int) error
	Pause(ctx context.Context, master int) error
	Unpause(ctx context.Context, master int) error
}

// OnMasters returns the faults that masters can have.
func OnMasters(m MasterControl) []Fault {
	return []Fault{
		fault{name: KillMaster, on: Masters, inject: m.Kill, heal: m.Start},
		fault{name: PauseMaster, on: Masters, inject: m.Pause, heal: m.Unpause},
	}
}

// ClientControl is what the faults of clients need.
type ClientControl interface {
	Kill(ctx context.Context, client int) error
	Start(ctx context.Context, client int) error
	Freeze(ctx context.Context, client int) error
	Thaw(ctx context.Context, client int) error
	// CanFreeze returns nil, or why this system has no means to stop a process.
	CanFreeze() error
}

// OnClients returns the faults that clients can have.
func OnClients(c ClientControl) []Fault {
	return []Fault{
		fault{name: KillClient, on: Clients, inject: c.Kill, heal: c.Start},
		fault{name: FreezeClient, on: Clients, available: c.CanFreeze(), inject: c.Freeze, heal: c.Thaw},
	}
}
