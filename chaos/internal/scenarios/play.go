package scenarios

import (
	"context"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/clock"
)

const (
	stopTimeout = 15 * time.Second
	// aftermath is how long the traffic continues after the storm. Masters that have just come back empty are then asked
	// at once for locks that they had granted.
	aftermath = 2 * time.Second
)

// terms returns the terms of the plan for the available faults.
func (s Scenario) terms(masters, clients int, available []string) faults.Terms {
	return faults.Terms{
		Mode: s.Mode, Duration: s.Storm, Masters: masters, Clients: clients, Window: s.outOfVotes(), TTL: traffic.TTL,
		Faults: available,
	}
}

// outOfVotes is for how long a master that was just started may not vote: it may have lost its locks.
func (s Scenario) outOfVotes() time.Duration { return s.Window() + 2*rounding }

func (p *player) run(ctx context.Context) error {
	p.Say("waiting until the masters are old enough to vote")
	if err := clock.Sleep(ctx, clock.System, p.scenario.outOfVotes()); err != nil {
		return err
	}
	if err := p.fleet.StartAll(ctx); err != nil {
		return err
	}
	if err := p.storm(ctx); err != nil {
		return err
	}
	calm, err := p.calm(ctx)
	if err != nil {
		return err
	}
	// The keys of clients that were killed at the end of the storm expire a TTL after the thaw of the last master.
	expired := calm + p.scenario.maxTTL() + rounding + p.lateness() + ahead(p.plan)
	if err := clock.Sleep(ctx, clock.System, expired-p.now()); err != nil {
		return err
	}
	settled := p.phase(history.Settled)
	p.Say("settled: %v from now no master may hold a key, and then no connection", Grace)
	if err := p.inspector.Watch(ctx, p.log, history.Keys, settled+Grace); err != nil {
		return err
	}
	if err := p.fleet.CloseLockers(ctx); err != nil {
		return err
	}
	if err := p.inspector.Watch(ctx, p.log, history.Sockets, p.now()+Grace); err != nil {
		return err
	}
	return p.fleet.End(ctx)
}

// lateness returns how long after the storm a command may still arrive: TCP repeats lost segments at intervals that
// double, and a proxy may hold data of a connection that its client has given up. A key that is set that late is
// removed after at most as long again, or expires with its TTL (see package node).
func (p *player) lateness() time.Duration {
	for _, fault := range p.planned() {
		if t, _ := faults.Lookup(fault); t.Late {
			return 10 * time.Second
		}
	}
	return 0
}

// ahead returns how much longer than its TTL a key may live, although nothing renews it: a master that follows another
// one copies its keys with the times at which they end, and the clock of the other one may be ahead.
func ahead(plan []faults.Step) (most time.Duration) {
	if !slices.ContainsFunc(plan, func(s faults.Step) bool { return s.Fault == faults.FollowMaster }) {
		return 0
	}
	clocks := map[int]time.Duration{}
	for _, step := range plan {
		gains := time.Duration(0)
		switch step.Fault {
		case faults.ClockForward:
			gains = faults.Jump
		case faults.ClockFast:
			gains = time.Duration(faults.Fast * float64(step.For))
		}
		for _, master := range step.Targets {
			clocks[master] += gains
			most = max(most, clocks[master])
		}
	}
	return most
}

// lastExtension is how long after its begin a storm may still be extended.
const lastExtension = time.Minute

// storm runs the nemesis against the traffic: the plan, and the plan again until the storm has shown what it must. On a
// busy machine clients do less in the same time. When storm returns without an error, every fault is healed.
func (p *player) storm(ctx context.Context) error {
	storm, plan := p.scenario.Storm, p.plan
	p.Say("storm of %v: %d clients, %d groups of names, %d steps",
		storm, p.scenario.Clients, len(p.scenario.Groups), len(plan))
	begin := p.phase(history.Storm)
	for {
		end := time.Now().Add(storm)
		if err := p.nemesis.Run(ctx, plan); err != nil {
			return err
		}
		if err := clock.Sleep(ctx, clock.System, time.Until(end)); err != nil {
			return err
		}
		events, err := history.ReadDir(p.parts())
		if err != nil {
			return err
		}
		if p.now()-begin > lastExtension || p.covered(events) {
			return nil
		}
		p.Say("the storm has not shown everything yet: the same again")
		if err := clock.Sleep(ctx, clock.System, p.scenario.outOfVotes()); err != nil { // as before the first
			return err
		}
		p.plan = slices.Concat(p.plan, plan)
	}
}

// covered reports whether the storm would have shown what it must if it ended now.
func (p *player) covered(events []history.Event) bool {
	now := history.Event{T: p.now(), Kind: history.Phase, Phase: history.Calm}
	soFar := Outcome{Scenario: p.scenario, Verdicts: p.judge(append(events, now))}
	return soFar.Verdict(check.ByCoverage).Held() && len(soFar.unseen()) == 0
}

// calm ends the traffic and has every client acquire every name once more, as the traffic does. It returns the time at
// which the calm began.
func (p *player) calm(ctx context.Context) (time.Duration, error) {
	if err := p.inspector.PingAll(ctx); err != nil {
		return 0, err
	}
	calm, bound := p.phase(history.Calm), p.scenario.Bound()
	p.Say("calm: every master answers; every client takes every name within %v from now", bound)
	if err := clock.Sleep(ctx, clock.System, aftermath); err != nil {
		return 0, err
	}
	if err := p.fleet.Stop(ctx, stopTimeout); err != nil {
		return 0, err
	}
	return calm, p.fleet.Round(ctx, bound+stopTimeout, calm+bound-p.now())
}
