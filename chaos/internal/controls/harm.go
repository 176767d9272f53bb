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

// masterFails kills the first master while a client holds a lock on it, once in each round. If the master has a
// replica, the two have been disconnected for longer than a TTL by then, so that whatever the replica knows of the lock
// has expired.
//
// A round in which no client gets a lock does not count, and another one begins. On a busy machine a client may take a
// slow master for a dead one and turn to the replica, which grants no lock while it follows.
func masterFails(ctx context.Context, t *trial) error {
	down := false
	for n, tries := 0, 0; t.goesOn(ctx, n); tries++ {
		if tries > 0 { // a client that has switched to the replica never switches back: restart, with nothing held
			if err := t.beginAnew(ctx, down); err != nil {
				return err
			}
			down = false
		}
		held, err := t.heldApart(ctx)
		if err != nil {
			return err
		}
		if !held {
			t.Say("control %s: no client got a lock within %v: another round", t.Lock, promptly)
			continue
		}
		if err := t.inject(ctx, faults.KillMaster, master); err != nil {
			return err
		}
		down = true
		pause(ctx, 2*t.groups[0].TTL)
		n++
	}
	return nil
}

// promptly is how soon a client must get a lock from serving masters, including the restart window.
const promptly = 5 * time.Second

// heldApart waits until a client holds a lock on the master that the replica does not know. It returns false if no
// client gets one.
func (t *trial) heldApart(ctx context.Context) (bool, error) {
	if held, err := t.soonHeld(ctx); !held || err != nil {
		return false, err
	}
	if t.replica { // the replica loses its connection and keeps its data
		if _, err := t.masters.Do(ctx, replica, "REPLICAOF", "127.0.0.1", "1"); err != nil {
			return false, err
		}
	}
	ttl := t.groups[0].TTL
	pause(ctx, ttl+ttl/5)
	return t.soonHeld(ctx)
}

// soonHeld reports whether a client gets a lock promptly.
func (t *trial) soonHeld(ctx context.Context) (bool, error) {
	soon, cancel := context.WithTimeout(ctx, promptly)
	defer cancel()
	err := t.awaitHolder(soon, t.Now())
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// beginAnew ends all clients and starts them again, with all masters up.
func (t *trial) beginAnew(ctx context.Context, down bool) error {
	if err := errors.Join(t.stop(ctx), t.Fleet.Quit(ctx)); err != nil {
		return err
	}
	if down {
		if err := t.heal(ctx, faults.KillMaster, master); err != nil {
			return err
		}
	}
	return t.begin(ctx)
}

// granting is the time that masters have to grant a lock. It is less than the time for which a naive client waits for
// silent masters. So when it has passed after the request, the masters have granted the lock and the call has not
// returned.
const granting = 50 * time.Millisecond

// cutByTurns has an owner acquire a hold while two of five masters receive no commands, and a nested hold while two
// others receive none. The two majorities share one master. If each master counts the holds that it has received, those
// with only one have none left when the nested hold is released. A stranger who asks then must not get the lock.
//
// Every round begins with an owner that holds nothing, on masters whose keys of the previous round have expired.
func cutByTurns(ctx context.Context, t *trial) error {
	const owner, stranger = 0, 1
	rng := rand.New(rand.NewPCG(t.Seed, 0x637574))
	if err := t.awaitHolder(ctx, 0); err != nil { // the masters vote by then
		return err
	}
	for n := 0; t.goesOn(ctx, n); n++ {
		if err := errors.Join(t.stop(ctx), t.Fleet.Kill(ctx, owner)); err != nil {
			return err
		}
		if n > 0 {
			pause(ctx, t.groups[0].TTL)
		}
		order := rng.Perm(t.Control.masters)
		outer, inner := order[:2], order[2:4]
		if err := t.inject(ctx, faults.LostCommands, outer...); err != nil {
			return err
		}
		begin := t.Now()
		if err := t.Fleet.Start(ctx, owner); err != nil {
			return err
		}
		if err := t.awaitHolder(ctx, begin); err != nil {
			return err
		}
		err := errors.Join(t.inject(ctx, faults.LostCommands, inner...), t.heal(ctx, faults.LostCommands, outer...))
		if err != nil {
			return err
		}
		nested := make(chan error, 1)
		go func() { nested <- t.pass(ctx, owner) }()
		pause(ctx, granting)
		healing := t.heal(ctx, faults.LostCommands, inner...)
		if err := errors.Join(healing, <-nested, t.pass(ctx, stranger)); err != nil {
			return err
		}
	}
	return nil
}

// refuse makes every client fail to acquire a name: all masters but one receive no commands. Unless the client releases
// its key on the remaining master, the key outlives the last inspection.
func refuse(ctx context.Context, t *trial) error {
	if err := t.awaitHolder(ctx, 0); err != nil { // the masters vote by then
		return err
	}
	silent := t.some(t.Control.masters - 1)
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

// counted is the number of holders before the masters lose their data. It must be large enough for restarted counters
// to be smaller.
const counted = 10

// allForget kills all masters at the same time and starts them empty. It returns after they have granted locks again
// for half a TTL.
func allForget(ctx context.Context, t *trial) error {
	for n := 0; t.goesOn(ctx, n); n++ {
		if err := t.awaitHolders(ctx, t.Now(), counted); err != nil {
			return err
		}
		all := t.some(t.Control.masters)
		if err := errors.Join(t.inject(ctx, faults.KillMaster, all...), t.heal(ctx, faults.KillMaster, all...)); err != nil {
			return err
		}
		if err := t.awaitHolder(ctx, t.Now()); err != nil {
			return err
		}
		pause(ctx, t.groups[0].TTL/2)
	}
	return nil
}

// cutOff keeps all commands from a majority of the masters while a client holds a lock, until a client is notified of a
// loss or unlocks.
func cutOff(ctx context.Context, t *trial) error {
	for n := 0; t.goesOn(ctx, n); n++ {
		if err := t.awaitHolder(ctx, t.Now()); err != nil {
			return err
		}
		most := t.some(t.Control.masters/2 + 1)
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
	return rand.New(rand.NewPCG(t.Seed, 0x736f6d65)).Perm(t.Control.masters)[:n]
}

// pass has one client acquire the name once, and release it at once.
func (t *trial) pass(ctx context.Context, client int) error {
	g := t.groups[0]
	return t.Fleet.All(ctx, g.TTL+stopTimeout, func(i int) traffic.Command {
		c := traffic.Command{Do: traffic.Pass, Phase: history.Storm, Mode: g.Mode, TTL: g.TTL, Patience: g.TTL}
		if i == client {
			c.Names = t.names() // the other clients get no names
		}
		return c
	})
}

// master and replica are the indexes of the pair in a control with a replica.
const master, replica = 0, 1

// begin starts all clients. All masters must be up.
func (t *trial) begin(ctx context.Context) error {
	if t.replica {
		if err := t.follow(ctx); err != nil {
			return err
		}
	}
	return t.Fleet.StartAll(ctx)
}

// follow makes replica follow master and waits until it is connected. That is no harm yet.
func (t *trial) follow(ctx context.Context) error {
	following, err := t.Nemesis.Fault(faults.FollowMaster)
	if err != nil {
		return err
	}
	return following.Inject(ctx, replica)
}

func pause(ctx context.Context, d time.Duration) { _ = clock.Sleep(ctx, clock.System, d) }
