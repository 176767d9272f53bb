package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/repeat"
	"github.com/redlock-go/redlock/clock"
)

// Nemesis carries out a plan.
type Nemesis struct {
	// Faults are the ones that the plan's steps name.
	Faults []*Fault
	// Find returns the fault of a step with a severity or paths, and nil for every other step. The nemesis then takes
	// the step's fault from Faults. Find may be nil.
	Find func(Step) *Fault
	// Healthy returns nil if the target works. It must before a fault is injected. After a heal the nemesis calls
	// Healthy until it returns nil, for at most HealthTimeout.
	Healthy func(ctx context.Context, on Side, target int) error
	// HealthTimeout is how long a healed target may take to work again.
	HealthTimeout time.Duration
	// Log takes every event; Say prints every step for a person.
	Log func(history.Event)
	Say func(format string, args ...any)
}

// action is one end of a step.
type action struct {
	at   time.Duration
	step Step
	heal bool
}

const healthPoll = 20 * time.Millisecond

// Run carries out the steps, and returns when the last one is healed. If ctx ends, a target is not healthy before a
// fault, or a fault cannot be injected or healed, Run heals all injected faults and returns the error.
//
// Actions keep their order and their distances: if one takes longer than planned, all later ones move. So a slow
// machine cannot put more masters out of action at once than the plan has.
func (n *Nemesis) Run(ctx context.Context, steps []Step) error {
	actions := timeline(steps)
	begin := time.Now()
	slip := time.Duration(0)
	var active []Step
	for _, a := range actions {
		if err := clock.Sleep(ctx, clock.System, time.Until(begin.Add(a.at+slip))); err != nil {
			return errors.Join(err, n.healAll(ctx, active))
		}
		err := n.ready(ctx, a)
		switch {
		case err != nil: // nothing was touched
		case a.heal:
			active = slices.DeleteFunc(active, func(s Step) bool { return reflect.DeepEqual(s, a.step) })
			err = n.Heal(ctx, a.step)
		default:
			if a.step.For > 0 {
				active = append(active, a.step)
			}
			err = n.Inject(ctx, a.step)
		}
		slip = max(slip, time.Since(begin)-a.at)
		if err != nil {
			return errors.Join(err, n.healAll(ctx, active))
		}
	}
	return nil
}

// timeline is both ends of all steps, in order; heals come first where times are equal. A step that does not last has
// one end.
func timeline(steps []Step) []action {
	var all []action
	for _, s := range steps {
		if s.For > 0 {
			all = append(all, action{at: s.Until(), step: s, heal: true})
		}
	}
	for _, s := range steps {
		all = append(all, action{at: s.At, step: s})
	}
	slices.SortStableFunc(all, func(a, b action) int { return cmp.Compare(a.at, b.at) })
	return all
}

// ready returns nil if the action can begin: its fault exists, and the targets of an injection work.
func (n *Nemesis) ready(ctx context.Context, a action) error {
	if _, err := n.of(a.step); err != nil || a.heal {
		return err
	}
	for _, target := range a.step.Targets {
		if err := n.Healthy(ctx, a.step.On, target); err != nil {
			return fmt.Errorf("before %s: %s %d does not work: %w", a.step, a.step.On, target, err)
		}
	}
	return nil
}

// Inject begins one step at all its targets at once. For an [Traits.Instant] fault it returns when they work again.
func (n *Nemesis) Inject(ctx context.Context, s Step) error {
	f, err := n.of(s)
	if err != nil {
		return err
	}
	n.Say("%s", s)
	n.Log(n.event(history.Inject, s))
	err = repeat.AtOnce(len(s.Targets), func(i int) error {
		if err := f.Inject(ctx, s.Targets[i]); err != nil {
			return fmt.Errorf("%s at %s %d: %w", s.Fault, s.On, s.Targets[i], err)
		}
		return nil
	})
	if err == nil && f.Instant { // it is over
		return n.Heal(ctx, s)
	}
	return err
}

// Heal ends one step, and returns when all its targets work again.
func (n *Nemesis) Heal(ctx context.Context, s Step) error {
	f, err := n.of(s)
	if err != nil {
		return err
	}
	n.Log(n.event(history.Heal, s))
	err = repeat.AtOnce(len(s.Targets), func(i int) error {
		if !f.Instant {
			if err := f.Heal(ctx, s.Targets[i]); err != nil {
				return fmt.Errorf("heal %s at %s %d: %w", s.Fault, s.On, s.Targets[i], err)
			}
		}
		return n.await(ctx, s.On, s.Targets[i])
	})
	if err == nil {
		n.Log(n.event(history.Healthy, s))
	}
	return err
}

// healAll ends what is injected, on a context of its own: it also runs when the run was interrupted.
func (n *Nemesis) healAll(ctx context.Context, active []Step) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.HealthTimeout+5*time.Second)
	defer cancel()
	var errs []error
	for _, s := range active {
		errs = append(errs, n.Heal(ctx, s))
	}
	return errors.Join(errs...)
}

// await returns when the target works.
func (n *Nemesis) await(ctx context.Context, on Side, target int) error {
	deadline := time.Now().Add(n.HealthTimeout)
	for {
		err := n.Healthy(ctx, on, target)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s %d does not work %v after it was healed: %w", on, target, n.HealthTimeout, err)
		}
		if err := clock.Sleep(ctx, clock.System, healthPoll); err != nil {
			return err
		}
	}
}

// of returns the fault of a step, with an error if there is none or it is not available.
func (n *Nemesis) of(s Step) (*Fault, error) {
	if n.Find != nil {
		if f := n.Find(s); f != nil {
			return f, nil
		}
	}
	for _, f := range n.Faults {
		if f.Name == s.Fault {
			return f, f.Available
		}
	}
	return nil, fmt.Errorf("no fault is called %q", s.Fault)
}

func (n *Nemesis) event(kind history.Kind, s Step) history.Event {
	return history.Event{Kind: kind, Fault: s.Fault, On: string(s.On), Targets: s.Targets}
}
