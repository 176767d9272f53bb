package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/faults"
)

// Kill ends a master at once: connections break, and new ones are refused.
func (b *Backend) Kill(ctx context.Context, m int) error {
	return errors.Join(b.masters[m].Kill(ctx), b.Network(ctx, m, faults.Cut))
}

// Start starts a killed master with what is on its disk, and returns when it answers.
func (b *Backend) Start(ctx context.Context, m int) error {
	if err := b.masters[m].Start(ctx); err != nil {
		return err
	}
	return b.Network(ctx, m, faults.Fine)
}

// Lose removes from the disk of a killed master what a crash loses.
func (b *Backend) Lose(ctx context.Context, m int, loss aof.Loss) error {
	if b.loses == aof.Everything || loss == aof.Nothing {
		return nil
	}
	return b.masters[m].editAOF(ctx, func(name string, content []byte) []byte { return aof.Cut(name, content, loss) })
}

// CanLose returns nil if a crash of these masters can lose that much, or else why not. All of them can lose everything.
func (b *Backend) CanLose(loss aof.Loss) error {
	if loss != aof.Everything && loss != b.loses {
		return fmt.Errorf("these masters were not started with appendfsync %s", loss.Fsync())
	}
	return nil
}

// Freeze stops a master as SIGSTOP does: its connections stay open and silent.
func (b *Backend) Freeze(ctx context.Context, m int) error { return b.masters[m].Freeze(ctx) }

// Thaw continues a frozen master, which then executes what was sent to it meanwhile.
func (b *Backend) Thaw(ctx context.Context, m int) error { return b.masters[m].thaw(ctx) }

// Network puts the proxy between the clients and a master into a condition.
func (b *Backend) Network(_ context.Context, m int, c faults.Condition) error {
	return b.masters[m].proxy.Set(c)
}

// Packets puts the network of the master itself into a condition, for everybody: [faults.Cut], [faults.Silent],
// [faults.NoCommands], [faults.NoAnswers] or [faults.Fine]. Unlike a proxy it loses packets, not bytes: connections
// live on, and what was sent arrives late. See [Backend.CanPackets].
func (b *Backend) Packets(ctx context.Context, m int, c faults.Condition) error {
	return b.masters[m].packets(ctx, c)
}

// CanPackets returns nil, or why the network of masters cannot be harmed.
func (b *Backend) CanPackets() error { return b.host.noPackets }

// Do sends a master a command, on a direct connection.
func (b *Backend) Do(ctx context.Context, m int, args ...any) (any, error) {
	return b.inspector.Do(ctx, m, args...)
}

// Peer returns the address of a master for other masters.
func (b *Backend) Peer(m int) (host, port string, err error) { return b.masters[m].peer() }

// NewInspector returns an inspector of the masters, which sees only what belongs to the run. The caller must close it.
func (b *Backend) NewInspector() (Inspector, error) { return NewInspector(b.direct, b.mark) }

// Masters returns the number of masters.
func (b *Backend) Masters() int { return len(b.URLs) }

// JumpClock sets the wall clock of a master forward, or back, by d. A restart changes nothing about it. See
// [Backend.CanMoveClocks].
func (b *Backend) JumpClock(_ context.Context, m int, d time.Duration) error {
	return b.masters[m].clock.Jump(d)
}

// RunClock has the wall clock of a master gain rate seconds a second from now on. 0 is the right pace.
func (b *Backend) RunClock(_ context.Context, m int, rate float64) error {
	return b.masters[m].clock.Run(rate)
}

// CanMoveClocks returns nil, or why the wall clocks of masters cannot be moved.
func (b *Backend) CanMoveClocks() error { return b.host.noClocks }

// tryClocks moves a clock and looks at it: what stands between the settings and a server in a container is not for the
// harness to know.
func (b *Backend) tryClocks(ctx context.Context) error {
	const far = 1000 * time.Hour
	if len(b.masters) == 0 {
		return nil
	}
	clock := b.masters[0].clock
	if err := clock.Jump(far); err != nil {
		return err
	}
	now, err := b.inspector[0].Time(ctx).Result()
	if err := errors.Join(err, clock.Jump(-far)); err != nil {
		return err
	}
	if time.Until(now) < far/2 {
		return errors.New("the clock of a master does not move when it is set")
	}
	return nil
}
