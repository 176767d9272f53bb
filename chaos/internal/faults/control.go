package faults

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/aof"
)

// MasterControl harms masters. backend.Backend implements it.
type MasterControl interface {
	// Masters returns the number of masters.
	Masters() int

	Kill(ctx context.Context, master int) error
	Start(ctx context.Context, master int) error
	Freeze(ctx context.Context, master int) error
	Thaw(ctx context.Context, master int) error
	// Lose removes from the disk of a killed master what a crash loses. CanLose returns nil, or why that loss is
	// impossible.
	Lose(ctx context.Context, master int, loss aof.Loss) error
	CanLose(loss aof.Loss) error

	// Do sends a master a command that bypasses the network faults. Peer returns the address for other masters.
	Do(ctx context.Context, master int, args ...any) (any, error)
	Peer(master int) (host, port string, err error)

	// Network sets the condition of the proxy in front of a master, Packets that of the master's own network.
	Network(ctx context.Context, master int, c Condition) error
	Packets(ctx context.Context, master int, c Condition) error
	CanPackets() error

	// JumpClock sets the wall clock of a master forward or back. RunClock makes it gain rate seconds a second.
	JumpClock(ctx context.Context, master int, d time.Duration) error
	RunClock(ctx context.Context, master int, rate float64) error
	CanMoveClocks() error
}

// ClientControl harms clients. clients.Fleet implements it.
type ClientControl interface {
	// Kill ends a client at once. It does nothing to a client that is dead.
	Kill(ctx context.Context, client int) error
	Start(ctx context.Context, client int) error
	Freeze(ctx context.Context, client int) error
	Thaw(ctx context.Context, client int) error
	// CanFreeze returns nil, or why this system has no means to stop a process.
	CanFreeze() error
	// SetCrashPoint has a client kill or freeze itself, once, when it next reaches the point of package traffic.
	// NoCrashPoint removes the crash point. When that returns, the client runs, thawed if necessary, and will not harm
	// itself.
	SetCrashPoint(ctx context.Context, client int, point string) error
	// RunClock makes the clock of a client's lock gain so many seconds a second from now on. With 0 the clock runs at its
	// first rate, and keeps what it has gained.
	RunClock(ctx context.Context, client int, gain float64) error
}

// Condition is the state of the network between clients and one master.
type Condition string

// The conditions. The faults of the network (network.go) say what each does.
const (
	Fine       Condition = "fine" // everything passes at once
	Slow       Condition = "slow"
	Jittery    Condition = "jittery"
	Trickling  Condition = "trickling"
	Resetting  Condition = "resetting"
	Cut        Condition = "cut"
	Silent     Condition = "silent"
	NoCommands Condition = "no-commands"
	NoAnswers  Condition = "no-answers"
)
