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

// harm does what makes a flaw show, for as many rounds as the plan says, or until ctx ends. It returns an error if it
// could not be done.
type harm func(ctx context.Context, t *trial) error

const (
	// recovery is how soon after a client died every other one must have had each name: a dead holder's lock must
	// expire, and a waiter must wake up.
	recovery    = traffic.TTL + 2*time.Second
	stopTimeout = 10 * time.Second
	goneTimeout = 10 * time.Second
)

// dies has a client die by its own hand at a moment of its traffic, and come back.
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

// masterFails kills the first master while a client holds a lock of it, once in each round. Its replica, if it
// has one, has not been in contact with it for longer than a TTL by then, so what it knows of the lock has ended.
//
// A round in which no client gets a lock does not count, and another one begins: on a busy machine a client may have
// taken a slow master for a dead one, and have turned to the replica, which gives no lock while it follows.
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

// promptly is how soon somebody gets a lock of masters that serve, the restart window included.
const promptly = 5 * time.Second

// heldApart returns true when a client holds a lock of the master that the replica does not know. It returns false if
// no client gets one.
func (t *trial) heldApart(ctx context.Context) (bool, error) {
	if held, err := t.soonHeld(ctx); !held || err != nil {
		return false, err
	}
	if t.replica { // it loses its master from sight, and keeps what it has
		if _, err := t.masters.Do(ctx, replica, "REPLICAOF", "127.0.0.1", "1"); err != nil {
			return false, err
		}
	}
	ttl := t.groups[0].TTL
	pause(ctx, ttl+ttl/5)
	return t.soonHeld(ctx)
}

// soonHeld reports whether somebody gets a lock promptly.
func (t *trial) soonHeld(ctx context.Context) (bool, error) {
	soon, cancel := context.WithTimeout(ctx, promptly)
	defer cancel()
	err := t.awaitHolder(soon, t.now())
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// beginAnew ends all clients, and starts them once more, on masters that all serve.
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

// granting is how long masters may take to grant a lock, and less than a naive client waits for those that say nothing:
// for so long after its question an acquisition is granted, and has not returned.
const granting = 50 * time.Millisecond

// cutByTurns has an owner take a hold while two of five masters miss all commands, and another one within it while two
// others do. Two majorities have one master in common: where each master counts the holds that it received, those that
// received only one have none left when the inner hold is given back. The stranger who asks then may not get in.
//
// Every round begins with an owner that holds nothing, on masters that have forgotten the last one.
func cutByTurns(ctx context.Context, t *trial) error {
	const owner, stranger = 0, 1
	rng := rand.New(rand.NewPCG(t.Seed, 0x637574))
	if err := t.awaitHolder(ctx, 0); err != nil { // the masters vote
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

// refuse has all clients ask for a name without success while all masters but one miss all commands. What is placed on
// that one outlasts the last look, if it is not released.
func refuse(ctx context.Context, t *trial) error {
	if err := t.awaitHolder(ctx, 0); err != nil { // the masters vote
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

// counted is how many holders there must have been before masters forget, so that counters that start again are
// smaller.
const counted = 10

// allForget kills all masters at once, and starts them empty. It returns when they have granted locks again for a
// while.
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

// cutOff has a majority of the masters miss all commands while a client holds a lock, so that it can no longer extend
// it, until a client is notified of a loss.
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
		err := t.await(ctx, "was notified of a loss", func(events []history.Event) bool {
			return slices.ContainsFunc(events, func(e history.Event) bool { return e.T > begin && e.Kind == history.Lost })
		})
		if err := errors.Join(err, t.lose(ctx, most, proxy.Fine), t.awaitHolder(ctx, t.now())); err != nil {
			return err
		}
	}
	return nil
}

// some draws so many masters.
func (t *trial) some(n int) []int {
	return rand.New(rand.NewPCG(t.Seed, 0x736f6d65)).Perm(t.plan.masters)[:n]
}

// pass has one client take the name once, for a moment, waiting until a hold has ended.
func (t *trial) pass(ctx context.Context, client int) error {
	g := t.groups[0]
	return t.fleet.All(ctx, g.TTL+stopTimeout, func(i int) traffic.Command {
		c := traffic.Command{Do: traffic.Pass, Phase: history.Storm, Mode: g.Mode, TTL: g.TTL, Patience: g.TTL}
		if i == client {
			c.Names = t.names() // the others are asked for nothing
		}
		return c
	})
}

// lose puts the network of some masters into a condition in which commands are lost, or heals it.
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

// The pair of a plan with a replica.
const master, replica = 0, 1

// begin starts all clients, on masters of which none has failed.
func (t *trial) begin(ctx context.Context) error {
	if t.replica {
		if err := t.follow(ctx); err != nil {
			return err
		}
	}
	return t.fleet.StartAll(ctx)
}

// follow makes the one master the replica of the other, and returns when it is in step.
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
