package faults

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/proxy"
)

// MasterControl is what the faults of masters need: see backend.Backend, which is one.
type MasterControl interface {
	// Masters returns how many there are.
	Masters() int

	Kill(ctx context.Context, master int) error
	Start(ctx context.Context, master int) error
	Freeze(ctx context.Context, master int) error
	Thaw(ctx context.Context, master int) error
	// Lose takes from the disk of a killed master what a crash loses; CanLose returns nil, or why it cannot be that much.
	Lose(ctx context.Context, master int, loss aof.Loss) error
	CanLose(loss aof.Loss) error

	// Do sends a master a command past the network faults, Peer returns where other masters reach it.
	Do(ctx context.Context, master int, args ...any) (any, error)
	Peer(master int) (host, port string, err error)

	// Network puts the proxy in front of a master into a condition, Packets the network of the master itself.
	Network(ctx context.Context, master int, c proxy.Condition) error
	Packets(ctx context.Context, master int, c proxy.Condition) error
	CanPackets() error

	// JumpClock sets the wall clock of a master forward or back. RunClock has it gain rate seconds a second.
	JumpClock(ctx context.Context, master int, d time.Duration) error
	RunClock(ctx context.Context, master int, rate float64) error
	CanMoveClocks() error
}

// ClientControl is what the faults of clients need.
type ClientControl interface {
	// Kill ends a client at once; one that is dead already stays so.
	Kill(ctx context.Context, client int) error
	Start(ctx context.Context, client int) error
	Freeze(ctx context.Context, client int) error
	Thaw(ctx context.Context, client int) error
	// CanFreeze returns nil, or why this system has no means to stop a process.
	CanFreeze() error
	// Doom tells a client what to do to itself at the next such moment, once. [NoCrashPoint] takes it back: when Doom returns
	// then, the client runs, thawed if it had to be, and will do nothing of that kind.
	SetCrashPoint(ctx context.Context, client int, point string) error
	// CanSetCrashPoint returns nil, or why the clients cannot be told.
	CanSetCrashPoint() error
	// RunClock has the clock of a client's lock gain so many seconds a second from now on; 0: it runs as it was started, and
	// stays ahead by what it has gained. CanRunClocks returns nil, or why the clocks cannot be had.
	RunClock(ctx context.Context, client int, gain float64) error
	CanRunClocks() error
}

// The moments of [ClientControl]'s Doom.
const (
	// NoCrashPoint is no moment at all.
	NoCrashPoint = ""
	// DieHolding, DieAcquiring and DieReleasing: it kills itself with SIGKILL while it holds a lock, while a Lock call is
	// on its way, while an Unlock call is.
	DieHolding   = "holding"
	DieAcquiring = "acquiring"
	DieReleasing = "releasing"
	// FreezeHolding: it stops itself with SIGSTOP inside the critical section.
	FreezeHolding = "frozen-holding"
)
