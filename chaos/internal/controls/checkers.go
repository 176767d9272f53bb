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

// modelTime bounds the search for a linearization.
const modelTime = 5 * time.Second

// before prepares the verdict of a checker once the harm is over. A checker that is not among them can judge at any
// time.
var before = map[string]func(ctx context.Context, t *trial) error{
	check.ByLiveness: calm,
	check.ByResidue:  settle,
	check.ByLeaks:    leave,
}

// judge returns the checker's verdict, within the same bounds as that on a scenario.
func (t *trial) judge(events []history.Event) check.Verdict {
	return t.by.Judge(events, check.Terms{
		Masters: t.Control.masters, Clients: t.Fleet.Names(), Names: t.names(), Slack: scenarios.Slack, Bound: recovery,
		Grace: scenarios.Grace, ModelTime: modelTime,
	})
}

// calm ends all traffic, then has every client acquire each name once. The residue of a dead holder must not prevent
// that.
func calm(ctx context.Context, t *trial) error {
	if err := t.stop(ctx); err != nil {
		return err
	}
	t.Phase(history.Calm)
	pass := traffic.Command{
		Do: traffic.Pass, Phase: history.Calm, Names: t.names(), TTL: t.groups[0].TTL, Patience: recovery,
	}
	return t.Fleet.All(ctx, recovery+stopTimeout, func(int) traffic.Command { return pass })
}

// settle ends all traffic and records the keys that remain on the masters.
func settle(ctx context.Context, t *trial) error {
	if err := t.stop(ctx); err != nil {
		return err
	}
	if err := t.Inspector.Watch(ctx, t.Log, history.Keys, t.Phase(history.Settled)+scenarios.Grace); err != nil {
		return err
	}
	if t.fades > 0 && t.Now() > t.fades {
		return errors.New("it took so long that what was left has ended by itself")
	}
	return nil
}

// leave ends all traffic, has all clients close their lockers, and records the connections that remain on the masters.
func leave(ctx context.Context, t *trial) error {
	if err := t.stop(ctx); err != nil {
		return err
	}
	t.Phase(history.Settled)
	if err := t.Fleet.CloseLockers(ctx); err != nil {
		return err
	}
	if err := t.Inspector.Watch(ctx, t.Log, history.Sockets, t.Now()+scenarios.Grace); err != nil {
		return err
	}
	return t.Fleet.End(ctx)
}
