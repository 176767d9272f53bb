// Package ghosts has the phase of a run that shows that no key is left by what a frozen master did late: locks are
// acquired and released while a minority of the masters is frozen, and refused while a majority is. Then all thaw.
package ghosts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/clock"
)

// TTL is the TTL of the locks. A key that is set when its master thaws, or shortly before, exists until the last
// snapshot, also on a busy machine.
const TTL = 7 * time.Second

const (
	// freeze is how long the minority stays frozen: so long that a client might assume that its key has expired.
	freeze = TTL + time.Second
	// refusals is how long clients try while no majority answers. The keys that they set outlive the last snapshot, too.
	refusals = time.Second
	// each is the number of its own names that each client locks.
	each = 3
)

// Phase is what the phase needs.
type Phase struct {
	// Seed determines which of the masters freeze.
	Seed uint64
	// Masters is their number.
	Masters int
	Nemesis *faults.Nemesis
	// Begin begins a phase of the run.
	Begin func(phase string)
	// Prefix is the beginning of all names. Bound is how long a client may wait for a lock while a minority is frozen.
	Prefix string
	Bound  time.Duration
	// All makes every client run a command for at most patience.
	All func(ctx context.Context, patience time.Duration, cmd func(client int) traffic.Command) error
}

// Play plays the phase. After an error, masters may be frozen.
func (p Phase) Play(ctx context.Context) error {
	targets := rand.New(rand.NewPCG(p.Seed, 0x67686f737473)).Perm(p.Masters)[:p.Masters/2+1]
	few, last := targets[1:], targets[:1]
	slices.Sort(few)
	step := func(targets []int) faults.Step {
		return faults.Step{Fault: faults.PauseMaster, On: faults.Masters, Targets: targets}
	}
	p.Begin(history.Ghosts)
	thaw := time.Now().Add(freeze)
	for _, do := range []func() error{
		func() error { return p.Nemesis.Inject(ctx, step(few)) },
		func() error { return p.lock(ctx, "ghost", p.Bound) },
		func() error { return clock.Sleep(ctx, clock.System, time.Until(thaw.Add(-refusals))) },
		func() error { return p.Nemesis.Inject(ctx, step(last)) },
		func() error { return p.lock(ctx, "refused", refusals) },
		func() error { return p.Nemesis.Heal(ctx, step(targets)) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// lock has every client lock names of its own.
func (p Phase) lock(ctx context.Context, what string, patience time.Duration) error {
	return p.All(ctx, patience, func(client int) traffic.Command {
		cmd := traffic.Command{Do: traffic.Pass, Phase: history.Ghosts, TTL: TTL, Patience: patience}
		for i := range each {
			cmd.Names = append(cmd.Names, fmt.Sprintf("%s%s:%s:%d", p.Prefix, what, traffic.Name(client), i))
		}
		return cmd
	})
}
