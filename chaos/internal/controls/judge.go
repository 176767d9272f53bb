package controls

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		Masters: masterCount, Clients: t.Fleet.Names(), Names: t.names(), Slack: scenarios.Slack, Bound: recovery,
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

// until returns the events up to the moment at which the reading of the history began. Later events are incomplete: the
// files that were read first lack them, so that a lock could seem to be acquired before its release.
func until(moment time.Duration, events []history.Event) []history.Event {
	n := slices.IndexFunc(events, func(e history.Event) bool { return e.T > moment })
	if n < 0 {
		return events
	}
	return events[:n]
}

// proper returns nil if the verdict is meaningful: the harness worked, locks were held, and if nothing was found, the
// harm was done.
func (t *trial) proper(events []history.Event, v check.Verdict, over bool) error {
	for _, of := range []check.Verdict{check.Broken(events), check.Clients(events), check.WellFormed(events)} {
		if !of.Held() {
			return fmt.Errorf("%s: %s", of.Checker, of.Findings[0].Text)
		}
	}
	acquired, harm := -1, -1
	for i, e := range events {
		switch {
		case e.Kind == history.Acquired:
			acquired = i
		case e.Kind == history.Inject && harm < 0:
			harm = i
		}
	}
	switch {
	case acquired < 0:
		return errors.New("no client ever got a lock")
	case len(v.Findings) > 0:
		return nil
	case t.ends() && !over:
		return errors.Join(fmt.Errorf("it was not done in full within %v", bound), t.ended)
	case t.harm == nil:
		return nil
	case harm < 0:
		return errors.Join(fmt.Errorf("no harm was done within %v", bound), t.ended)
	case t.before == nil && acquired < harm: // the other checkers judge after another step, which shows more
		return errors.New("no client got a lock once the harm was done")
	}
	return nil
}
