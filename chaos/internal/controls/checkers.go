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

// checker says how a trial is judged: in the same way and within the same bounds as a scenario.
type checker struct {
	judge func(t *trial, events []history.Event) check.Verdict
	// before prepares the verdict once the harm is over. If it is nil, the checker can judge at any time.
	before func(ctx context.Context, t *trial) error
}

// modelTime bounds the search for a linearization.
const modelTime = 5 * time.Second

var checkers = map[string]checker{
	"exclusion": {judge: func(_ *trial, events []history.Event) check.Verdict { return check.Exclusion(events) }},
	"linearizability": {judge: func(_ *trial, events []history.Event) check.Verdict {
		return check.Linearizability(events, modelTime)
	}},
	"slots":        {judge: func(_ *trial, events []history.Event) check.Verdict { return check.Slots(events) }},
	"minimum hold": {judge: func(_ *trial, events []history.Event) check.Verdict { return check.MinHold(events) }},
	"leaders":      {judge: func(_ *trial, events []history.Event) check.Verdict { return check.Leaders(events, nil) }},
	"fencing": {judge: func(t *trial, events []history.Event) check.Verdict {
		return check.Fencing(events, t.plan.masters, nil, 0)
	}},
	"register": {judge: func(_ *trial, events []history.Event) check.Verdict { return check.Register(events) }},
	"loss notified": {judge: func(t *trial, events []history.Event) check.Verdict {
		return check.LossNotified(events, t.fleet.Names(), scenarios.Slack)
	}},
	"liveness": {
		judge: func(t *trial, events []history.Event) check.Verdict {
			return check.Liveness(events, t.fleet.Names(), t.names(), recovery)
		},
		before: calm,
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

// calm ends all traffic, then has every client acquire each name once. The residue of a dead holder must not prevent
// that.
func calm(ctx context.Context, t *trial) error {
	if err := t.stop(ctx); err != nil {
		return err
	}
	t.phase(history.Calm)
	pass := traffic.Command{
		Do: traffic.Pass, Phase: history.Calm, Names: t.names(), TTL: t.groups[0].TTL, Patience: recovery,
	}
	return t.fleet.All(ctx, recovery+stopTimeout, func(int) traffic.Command { return pass })
}

// settle ends all traffic and records the keys that remain on the masters.
func settle(ctx context.Context, t *trial) error {
	if err := t.stop(ctx); err != nil {
		return err
	}
	if err := t.look(ctx, history.Keys, t.phase(history.Settled)); err != nil {
		return err
	}
	if t.fades > 0 && t.now() > t.fades {
		return errors.New("it took so long that what was left has ended by itself")
	}
	return nil
}

// leave ends all traffic and all clients, and records the connections that remain on the masters.
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
