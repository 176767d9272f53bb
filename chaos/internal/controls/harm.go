package controls

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/clock"
)

// harm exposes a flaw. It runs for as many rounds as the control says, or until ctx ends. It returns an error if it
// could not do so.
type harm func(ctx context.Context, t *trial) error

const (
	// recovery is how soon after the death of a client every other client must have acquired each name. A dead holder's
	// lock must expire, and a waiter must wake up, even if the machine is busy.
	recovery    = traffic.TTL + 8*time.Second
	stopTimeout = 10 * time.Second
	goneTimeout = 10 * time.Second
)

// dies makes a client kill itself at a moment of its traffic, and starts it again.
func dies(moment string) harm {
	return func(ctx context.Context, t *trial) error {
		const victim = 0
		if err := t.awaitHolder(ctx, 0); err != nil {
			return err
		}
		note := func(kind history.Kind) {
			e := history.Event{Kind: kind, Fault: "kill-client-" + moment, On: string(faults.Clients), Targets: []int{victim}}
			t.Log.Write(e)
		}
		note(history.Inject)
		if err := t.Fleet.SetCrashPoint(ctx, victim, moment); err != nil {
			return err
		}
		if err := t.Fleet.WaitGone(ctx, victim, goneTimeout); err != nil {
			return err
		}
		note(history.Heal)
		return t.Fleet.Start(ctx, victim)
	}
}

// refuse makes every client fail to acquire a name: all masters but one receive no commands. Unless the client releases
// its key on the remaining master, the key outlives the last inspection.
func refuse(ctx context.Context, t *trial) error {
	if err := t.awaitHolder(ctx, 0); err != nil { // the masters vote by then
		return err
	}
	silent := t.some(masterCount - 1)
	if err := t.inject(ctx, faults.LostCommands, silent...); err != nil {
		return err
	}
	begin := t.Now()
	t.fades = begin + t.longest
	err := t.Fleet.All(ctx, stopTimeout, func(client int) traffic.Command {
		name := t.prefix + "refused:" + traffic.Name(client)
		return traffic.Command{
			Do: traffic.Pass, Phase: history.Storm, Names: []string{name}, TTL: t.longest, Patience: 2 * clients.NodeTimeout,
		}
	})
	if err := errors.Join(err, t.heal(ctx, faults.LostCommands, silent...)); err != nil {
		return err
	}
	return t.await(ctx, "was refused a lock", func(events []history.Event) bool {
		return slices.ContainsFunc(events, func(e history.Event) bool {
			return e.T > begin && e.Kind == history.Refused && strings.HasPrefix(e.Name, t.prefix+"refused:")
		})
	})
}

// cutOff keeps all commands from a majority of the masters while a client holds a lock, until a client is notified of a
// loss or unlocks.
func cutOff(ctx context.Context, t *trial) error {
	for n := 0; t.goesOn(ctx, n); n++ {
		if err := t.awaitHolder(ctx, t.Now()); err != nil {
			return err
		}
		most := t.some(masterCount/2 + 1)
		begin := t.Now()
		if err := t.inject(ctx, faults.LostCommands, most...); err != nil {
			return err
		}
		err := t.await(ctx, "was notified of a loss or unlocked", func(events []history.Event) bool {
			return slices.ContainsFunc(events, func(e history.Event) bool {
				return e.T > begin && (e.Kind == history.Lost || e.Kind == history.ReleaseCalled)
			})
		})
		if err := errors.Join(err, t.heal(ctx, faults.LostCommands, most...), t.awaitHolder(ctx, t.Now())); err != nil {
			return err
		}
	}
	return nil
}

// some draws n masters.
func (t *trial) some(n int) []int {
	return rand.New(rand.NewPCG(t.Seed, 0x736f6d65)).Perm(masterCount)[:n]
}

func pause(ctx context.Context, d time.Duration) { _ = clock.Sleep(ctx, clock.System, d) }
