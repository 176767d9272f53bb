package controls

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/proxy"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// harm exposes a flaw. It runs for as many rounds as the plan says, or until ctx ends. It returns an error if it could
// not do so.
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
		fault := "kill-client-" + moment
		t.note(history.Inject, fault, faults.Clients, victim)
		if err := t.fleet.SetCrashPoint(ctx, victim, moment); err != nil {
			return err
		}
		if err := t.fleet.WaitGone(ctx, victim, goneTimeout); err != nil {
			return err
		}
		t.note(history.Heal, fault, faults.Clients, victim)
		return t.fleet.Start(ctx, victim)
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
			t.Say("control %s: no client got a lock within %v: another round", t.lock, promptly)
			continue
		}
		t.note(history.Inject, faults.KillMaster, faults.Masters, master)
		if err := t.masters.Kill(ctx, master); err != nil {
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
	err := t.awaitHolder(soon, t.now())
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// beginAnew ends all clients and starts them again, with all masters up.
func (t *trial) beginAnew(ctx context.Context, down bool) error {
	if err := errors.Join(t.stop(ctx), t.fleet.Quit(ctx)); err != nil {
		return err
	}
	if down {
		if err := t.masters.Start(ctx, master); err != nil {
			return err
		}
		t.note(history.Heal, faults.KillMaster, faults.Masters, master)
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
		if err := errors.Join(t.stop(ctx), t.fleet.Kill(ctx, owner)); err != nil {
			return err
		}
		if n > 0 {
			pause(ctx, t.groups[0].TTL)
		}
		order := rng.Perm(t.plan.masters)
		outer, inner := order[:2], order[2:4]
		if err := t.lose(ctx, outer, proxy.NoCommands); err != nil {
			return err
		}
		begin := t.now()
		if err := t.fleet.Start(ctx, owner); err != nil {
			return err
		}
		if err := t.awaitHolder(ctx, begin); err != nil {
			return err
		}
		if err := errors.Join(t.lose(ctx, inner, proxy.NoCommands), t.lose(ctx, outer, proxy.Fine)); err != nil {
			return err
		}
		nested := make(chan error, 1)
		go func() { nested <- t.pass(ctx, owner) }()
		pause(ctx, granting)
		healing := t.lose(ctx, inner, proxy.Fine)
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
	silent := t.some(t.plan.masters - 1)
	if err := t.lose(ctx, silent, proxy.NoCommands); err != nil {
		return err
	}
	begin := t.now()
	t.fades = begin + t.longest
	err := t.fleet.All(ctx, stopTimeout, func(client int) traffic.Command {
		name := t.prefix + "refused:" + traffic.Name(client)
		return traffic.Command{
			Do: traffic.Pass, Phase: history.Storm, Names: []string{name}, TTL: t.longest, Patience: 2 * traffic.NodeTimeout,
		}
	})
	if err := errors.Join(err, t.lose(ctx, silent, proxy.Fine)); err != nil {
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
		if err := t.awaitHolders(ctx, t.now(), counted); err != nil {
			return err
		}
		all := t.some(t.plan.masters)
		t.note(history.Inject, faults.KillMaster, faults.Masters, all...)
		var errs []error
		for _, m := range all {
			errs = append(errs, t.masters.Kill(ctx, m))
		}
		for _, m := range all {
			errs = append(errs, t.masters.Start(ctx, m))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		t.note(history.Heal, faults.KillMaster, faults.Masters, all...)
		if err := t.awaitHolder(ctx, t.now()); err != nil {
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
		if err := t.awaitHolder(ctx, t.now()); err != nil {
			return err
		}
		most := t.some(t.plan.masters/2 + 1)
		begin := t.now()
		if err := t.lose(ctx, most, proxy.NoCommands); err != nil {
			return err
		}
		err := t.await(ctx, "was notified of a loss or unlocked", func(events []history.Event) bool {
			return slices.ContainsFunc(events, func(e history.Event) bool {
				return e.T > begin && (e.Kind == history.Lost || e.Kind == history.ReleaseCalled)
			})
		})
		if err := errors.Join(err, t.lose(ctx, most, proxy.Fine), t.awaitHolder(ctx, t.now())); err != nil {
			return err
		}
	}
	return nil
}

// some draws n masters.
func (t *trial) some(n int) []int {
	return rand.New(rand.NewPCG(t.Seed, 0x736f6d65)).Perm(t.plan.masters)[:n]
}

// pass has one client acquire the name once, and release it at once.
func (t *trial) pass(ctx context.Context, client int) error {
	g := t.groups[0]
	return t.fleet.All(ctx, g.TTL+stopTimeout, func(i int) traffic.Command {
		c := traffic.Command{Do: traffic.Pass, Phase: history.Storm, Mode: g.Mode, TTL: g.TTL, Patience: g.TTL}
		if i == client {
			c.Names = t.names() // the other clients get no names
		}
		return c
	})
}

// lose puts the network of some masters into the condition c, in which commands are lost, or heals it.
func (t *trial) lose(ctx context.Context, masters []int, c proxy.Condition) error {
	kind := history.Inject
	if c == proxy.Fine {
		kind = history.Heal
	}
	t.note(kind, faults.LostCommands, faults.Masters, masters...)
	var errs []error
	for _, m := range masters {
		errs = append(errs, t.masters.Network(ctx, m, c))
	}
	return errors.Join(errs...)
}

// master and replica are the indexes of the pair in a plan with a replica.
const master, replica = 0, 1

// begin starts all clients. All masters must be up.
func (t *trial) begin(ctx context.Context) error {
	if t.replica {
		if err := t.follow(ctx); err != nil {
			return err
		}
	}
	return t.fleet.StartAll(ctx)
}

// follow makes replica follow master and waits until it is connected.
func (t *trial) follow(ctx context.Context) error {
	host, port, err := t.masters.Peer(master)
	if err != nil {
		return err
	}
	if _, err := t.masters.Do(ctx, replica, "REPLICAOF", host, port); err != nil {
		return err
	}
	for {
		reply, err := t.masters.Do(ctx, replica, "ROLE")
		if role, ok := reply.([]any); ok && len(role) > 3 && role[3] == "connected" {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf(
				"the replica never was in step with its master: it says %v: %w",
				reply,
				errors.Join(err, ctx.Err()),
			)
		}
		pause(ctx, lookEvery)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
