package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/environment"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/stalls"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/clock"
)

const (
	stopTimeout      = 15 * time.Second
	firstLockTimeout = 20 * time.Second
	sayEvery         = 5 * time.Second
	// aftermath is how long the traffic continues after the storm. Masters that have just come back empty are then asked
	// at once for locks that they had granted.
	aftermath = 2 * time.Second
	// longestStall is the longest stall of the harness with which a run still has a verdict. On a machine that stalls for
	// longer, clients may miss [Scenario.Bound], too.
	longestStall = 5 * time.Second
)

// A player plays the phases of a scenario.
type player struct {
	*environment.Environment
	Options
	scenario Scenario
	masters  masters
	plan     []faults.Step
}

// play plays the scenario, judges the history, and saves it. It returns what it has of the
// history even if it could not be saved.
func play(ctx context.Context, s Scenario, o Options, out *Outcome, m masters) ([]history.Event, error) {
	p := &player{Options: o, scenario: s, masters: m}
	parts := filepath.Join(o.Dir, "parts")
	var err error
	p.Environment, err = environment.Open(environment.Settings{
		Dir: parts, Logs: filepath.Join(o.Dir, "logs"), Masters: m, Runner: o.Runner, Clients: s.Clients,
		Groups: s.Groups, Configure: p.configure, Say: o.Say, Announce: o.Say,
	})
	if err != nil {
		return nil, err
	}
	p.prepare(out)
	if len(s.Faults) > 0 && len(p.plan) == 0 {
		out.Skipped = strings.Join(out.Without, "; ")
		return nil, p.Close(ctx)
	}
	var longest time.Duration
	unwatch := stalls.Watch(p.Log.Clock(), cmp.Or(o.tolerated, longestStall), func(_, stall time.Duration) {
		longest = max(longest, stall)
	})
	err = p.run(ctx)
	unwatch()
	if ctx.Err() == nil { // an interrupted run is not broken, it has no verdict
		p.Broken(err)
		if longest > 0 {
			p.Broken(fmt.Errorf("it stood still for %v: the machine is too busy", longest.Round(time.Millisecond)))
		}
	}
	closing := p.Close(ctx)
	events, err := history.ReadDir(parts)
	if ctx.Err() != nil || len(events) == 0 {
		return nil, errors.Join(ctx.Err(), closing, err)
	}
	out.Verdicts = p.judge(events) // they stand even if the history cannot be saved
	err = errors.Join(closing, err, history.Save(filepath.Join(o.Dir, "history.jsonl"), events))
	if err != nil {
		return events, err // the parts are kept
	}
	return events, os.RemoveAll(parts)
}

// configure returns the configuration of a client.
func (p *player) configure(client int) traffic.Config {
	s := p.scenario
	c := traffic.Config{
		Lock: cmp.Or(s.Lock, traffic.Quorum), URLs: p.masters.URLs(), MaxTTL: s.maxTTL(), Prefix: p.masters.Prefix(),
		Workers: s.Workers, Seed: p.Seed,
	}
	if len(s.ClockRates) > 0 {
		c.ClockRate = s.ClockRates[client%len(s.ClockRates)]
	}
	return c
}

// prepare draws the plan from the faults that are available.
func (p *player) prepare(out *Outcome) {
	s := p.scenario
	var skipped []skip
	var available []string
	for _, f := range p.Nemesis.Faults {
		name := f.Traits().Name
		if !slices.Contains(s.Faults, name) {
			continue
		}
		if err := f.Available(); err != nil {
			skipped = append(skipped, skip{name, err.Error()})
			continue
		}
		available = append(available, name)
	}
	out.Without = without(skipped)
	for _, line := range out.Without {
		p.Say("%s", line)
	}
	if len(available) > 0 {
		p.plan = faults.Plan(p.Seed, s.terms(p.masters.Masters(), s.Clients, available))
	}
}

// terms returns the terms of the plan for the available faults.
func (s Scenario) terms(masters, clients int, available []string) faults.Terms {
	return faults.Terms{
		Mode: s.Mode, Duration: s.Storm, Masters: masters, Clients: clients, Window: s.Window() + 2*rounding,
		TTL: traffic.TTL, Faults: available,
	}
}

func (p *player) run(ctx context.Context) error {
	if err := p.waitForVotes(ctx); err != nil {
		return err
	}
	if err := p.Fleet.StartAll(ctx); err != nil {
		return err
	}
	if err := p.firstLock(ctx); err != nil {
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
	if err := clock.Sleep(ctx, clock.System, expired-p.Now()); err != nil {
		return err
	}
	settled := p.Phase(history.Settled)
	p.Say("settled: %v from now no master may hold a key, and then no connection", Grace)
	if err := p.Inspector.Watch(ctx, p.Log, history.Keys, settled+Grace); err != nil {
		return err
	}
	if err := p.Fleet.CloseLockers(ctx); err != nil {
		return err
	}
	if err := p.Inspector.Watch(ctx, p.Log, history.Sockets, p.Now()+Grace); err != nil {
		return err
	}
	return p.Fleet.End(ctx)
}

// waitForVotes returns when every master has been up for longer than the restart window. Until then no Locker gets a
// lock, because a fresh master may have lost its locks.
func (p *player) waitForVotes(ctx context.Context) error {
	if err := p.Inspector.PingAll(ctx); err != nil {
		return err
	}
	window := p.scenario.Window()
	for said := false; ; said = true {
		youngest := time.Duration(1<<63 - 1)
		for m := range p.Inspector {
			up, err := p.Inspector.Uptime(ctx, m)
			if err != nil {
				return err
			}
			youngest = min(youngest, up)
		}
		if youngest >= window+rounding {
			return nil
		}
		if !said {
			p.Say("a master may not vote before it is older than the restart window of %v; the youngest is %v old: waiting",
				window, youngest)
		}
		if err := clock.Sleep(ctx, clock.System, 200*time.Millisecond); err != nil {
			return err
		}
	}
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

func (p *player) firstLock(ctx context.Context) error {
	for end := time.Now().Add(firstLockTimeout); p.Fleet.Held() == 0; {
		if time.Now().After(end) {
			return fmt.Errorf("no client got a single lock from healthy masters within %v; see logs/", firstLockTimeout)
		}
		if err := clock.Sleep(ctx, clock.System, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// storm runs the nemesis against the traffic. When it returns without an error, every fault is healed.
func (p *player) storm(ctx context.Context) error {
	storm := p.scenario.Storm
	p.Say("storm of %v: %d clients, %d groups of names, %d steps",
		storm, p.scenario.Clients, len(p.scenario.Groups), len(p.plan))
	p.Phase(history.Storm)
	begin := time.Now()
	raging := make(chan error, 1)
	go func() {
		err := p.Nemesis.Run(ctx, p.plan)
		if err == nil {
			err = clock.Sleep(ctx, clock.System, time.Until(begin.Add(storm)))
		}
		raging <- err
	}()
	tick := time.NewTicker(sayEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-raging:
			return err
		case <-tick.C:
			p.Say("%v of %v: %d locks held so far", time.Since(begin).Round(time.Second), storm, p.Fleet.Held())
		}
	}
}

// calm ends the traffic and has every client acquire every name once more, as the traffic does. It returns the time at
// which the calm began.
func (p *player) calm(ctx context.Context) (time.Duration, error) {
	if err := p.Inspector.PingAll(ctx); err != nil {
		return 0, err
	}
	calm, bound := p.Phase(history.Calm), p.scenario.Bound()
	p.Say("calm: every master answers; every client takes every name within %v from now", bound)
	if err := clock.Sleep(ctx, clock.System, aftermath); err != nil {
		return 0, err
	}
	if err := p.Fleet.All(ctx, stopTimeout, only(traffic.Stop)); err != nil {
		return 0, err
	}
	round := traffic.Command{
		Do: traffic.Round, Phase: history.Calm, TTL: traffic.TTL, Patience: calm + bound - p.Now(),
	}
	return calm, p.Fleet.All(ctx, bound+stopTimeout, func(int) traffic.Command { return round })
}

// only returns a function that makes a command without arguments.
func only(do string) func(int) traffic.Command {
	return func(int) traffic.Command { return traffic.Command{Do: do} }
}
