package controls

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// checker is how a trial is judged, in the way and within the bounds in which a scenario is.
type checker struct {
	judge func(t *trial, events []history.Event) check.Verdict
	// before is what is done before it has anything to say, once the harm is over; nil: it may speak at any time.
	before func(ctx context.Context, t *trial) error
	// timely: it bounds how long masters that serve may keep a client waiting. They serve no client while the harness is
	// stalled, as all that passes between them and the clients passes through it.
	timely bool
}

// still is how long the harness may stand still in a trial that such a checker judges.
const still = time.Second

// modelTime bounds how long the model is asked.
const modelTime = 5 * time.Second

var checkers = map[string]checker{
	"exclusion": {judge: func(_ *trial, events []history.Event) check.Verdict { return check.Exclusion(events) }},
	"linearizability": {judge: func(_ *trial, events []history.Event) check.Verdict {
		return check.Linearizability(events, modelTime)
	}},
	"fencing": {judge: func(t *trial, events []history.Event) check.Verdict {
		return check.Fencing(events, t.plan.masters, nil)
	}},
	"register": {judge: func(_ *trial, events []history.Event) check.Verdict { return check.Register(events) }},
	"loss notified": {judge: func(t *trial, events []history.Event) check.Verdict {
		return check.LossNotified(events, t.fleet.Names(), scenarios.Slack)
	}},
	"waiting": {
		judge: func(t *trial, events []history.Event) check.Verdict {
			s := scenarios.Scenario{Groups: t.groups}
			return check.Waiting(events, s.Availability(t.plan.masters, t.fleet.Names()))
		},
		timely: true,
	},
	"liveness": {
		judge: func(t *trial, events []history.Event) check.Verdict {
			return check.Liveness(events, t.fleet.Names(), t.names(), recovery)
		},
		before: calm, timely: true,
	},
	"residue": {
		judge: func(t *trial, events []history.Event) check.Verdict {
			return check.Left(events, t.plan.masters, scenarios.Grace)
		},
		before: settle,
	},
	"leaks": {
		judge: func(t *trial, events []history.Event) check.Verdict {
			return check.Leaks(events, t.fleet.Names(), t.plan.masters, scenarios.Grace)
		},
		before: leave,
	},
}

// overtime is how much longer they may wait for it: time in which the machine is away does not count, and must not make
// them give up.
const overtime = 6 * time.Second

// calm ends all traffic, and everybody wants each name once: what a dead holder has left must not be in the way.
func calm(ctx context.Context, t *trial) error {
	if err := t.stop(ctx); err != nil {
		return err
	}
	t.phase(history.Calm)
	pass := traffic.Command{
		Do: traffic.Pass, Phase: history.Calm, Names: t.names(), TTL: t.groups[0].TTL, Patience: recovery + overtime,
	}
	return t.fleet.All(ctx, recovery+overtime+stopTimeout, func(int) traffic.Command { return pass })
}

// settle ends all traffic, and looks at what the masters hold then.
func settle(ctx context.Context, t *trial) error {
	if err := t.stop(ctx); err != nil {
		return err
	}
	if err := t.look(ctx, history.Keys, t.phase(history.Settled)); err != nil {
		return err
	}
	if t.now() > t.fades {
		return errors.New("it took so long that what was left has ended by itself")
	}
	return nil
}

// leave ends all traffic and all clients, and looks at who is still connected to the masters then.
func leave(ctx context.Context, t *trial) error {
	if err := t.stop(ctx); err != nil {
		return err
	}
	t.phase(history.Settled)
	if err := t.fleet.Quit(ctx); err != nil {
		return err
	}
	return t.look(ctx, history.Sockets, t.now())
}
