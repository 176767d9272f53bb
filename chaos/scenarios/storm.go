package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/backend"
	"github.com/redlock-go/redlock/chaos/check"
	"github.com/redlock-go/redlock/chaos/faults"
	"github.com/redlock-go/redlock/chaos/history"
	"github.com/redlock-go/redlock/chaos/traffic"
)

const (
	stormPrefix = "storm:"
	// workers is how many goroutines of each client contend for each name.
	workers       = 2
	stopTimeout   = 15 * time.Second
	healthTimeout = 15 * time.Second
	firstLock     = 20 * time.Second
	sayEvery      = 5 * time.Second
	// aftermath is how long the traffic goes on when the storm is over: masters that have just come back empty are
	// asked at once for what they had granted.
	aftermath = 3 * time.Second
	// ghostsEach is how many names of its own each client locks behind the frozen masters.
	ghostsEach = 3
	// ghostTTL is the TTL of those locks. A key that is set when its master thaws is still there when somebody looks.
	ghostTTL = 4 * time.Second
	// ghostFreeze is how long the masters stay frozen: so long that a client might take its key for expired.
	ghostFreeze = ghostTTL + time.Second
	// refusals is how long clients try in vain. What they place meanwhile outlives the last look, too.
	refusals = time.Second
)

// storm runs the lock under test through the faults of the seed, and returns what the checkers say.
func storm(ctx context.Context, o Options, masters backend.Backend, eyes backend.Eyes) ([]check.Verdict, error) {
	config := traffic.Config{
		Lock: traffic.Quorum, URLs: masters.URLs(), Window: Window, Prefix: stormPrefix, Workers: workers, Seed: o.Seed,
	}
	s, err := newStage(o, "storm", func(int) traffic.Config { return config })
	if err != nil {
		return nil, err
	}
	w := &weather{stage: s, masters: masters, eyes: eyes}
	all := append(faults.OnMasters(masters), faults.OnClients(s.fleet)...)
	terms := faults.Terms{
		Duration: o.Duration, Masters: Masters, Clients: o.Clients, Window: Window + 2*rounding, TTL: traffic.TTL,
	}
	for _, f := range all {
		if err := f.Available(); err != nil {
			s.Say("without %s: %v", f.Name(), err)
			continue
		}
		terms.Faults = append(terms.Faults, f.Name())
	}
	w.plan = faults.Plan(o.Seed, terms)
	w.nemesis = &faults.Nemesis{
		Faults: all, Healthy: w.healthy, HealthTimeout: healthTimeout, Log: s.log.Write, Say: s.Say,
	}

	err = w.run(ctx)
	if ctx.Err() == nil { // an interrupted run is not broken, it has no verdict
		s.broken(err)
	}
	events, closing := s.close("history.jsonl")
	if err := errors.Join(ctx.Err(), closing); err != nil {
		return nil, err
	}
	return w.judge(events), nil
}

// weather is a storm and what comes after it.
type weather struct {
	*stage
	masters backend.Backend
	eyes    backend.Eyes
	nemesis *faults.Nemesis
	plan    []faults.Step
}

func (w *weather) judge(events []history.Event) []check.Verdict {
	var planned []string
	for _, s := range w.plan {
		if !slices.Contains(planned, s.Fault) {
			planned = append(planned, s.Fault)
		}
	}
	names, clients := traffic.Names(stormPrefix), w.fleet.Names()
	return []check.Verdict{
		check.Exclusion(events),
		check.Residue(events, Masters, Grace),
		check.Liveness(events, clients, names, Bound),
		check.Coverage(events, clients, names, planned),
		check.Sound(events),
		check.Broken(events),
	}
}

func (w *weather) healthy(ctx context.Context, on faults.Side, target int) error {
	if on == faults.Clients {
		return w.fleet.Healthy(target)
	}
	return w.eyes.Ping(ctx, target)
}

func (w *weather) run(ctx context.Context) error {
	if err := w.waitForVotes(ctx); err != nil {
		return err
	}
	if err := w.fleet.StartAll(ctx); err != nil {
		return err
	}
	if err := w.firstLock(ctx); err != nil {
		return err
	}
	if err := w.storm(ctx); err != nil {
		return err
	}
	calm, err := w.calm(ctx)
	if err != nil {
		return err
	}
	// What clients that were killed at the end of the storm have left behind ends with its TTL, counted from the thaw of
	// the last master.
	if err := sleep(ctx, calm+traffic.LongTTL+rounding-w.log.Clock().Now()); err != nil {
		return err
	}
	if err := w.ghosts(ctx); err != nil {
		return err
	}
	return w.fleet.Quit(ctx)
}

// waitForVotes returns when every master has been up for longer than the restart window. Until then no Locker would get
// a lock, and that is right: a fresh master may be one that forgot.
func (w *weather) waitForVotes(ctx context.Context) error {
	if err := w.eyes.PingAll(ctx); err != nil {
		return err
	}
	for said := false; ; said = true {
		youngest := time.Duration(1<<63 - 1)
		for m := range w.eyes {
			up, err := w.eyes.Uptime(ctx, m)
			if err != nil {
				return err
			}
			youngest = min(youngest, up)
		}
		if youngest >= Window+rounding {
			w.Say("all masters are at least %v old and past their restart window of %v: they may vote", youngest, Window)
			return nil
		}
		if !said {
			w.Say("a master may not vote before it is older than the restart window of %v; the youngest is %v old: waiting", Window, youngest)
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

func (w *weather) firstLock(ctx context.Context) error {
	for end := time.Now().Add(firstLock); w.fleet.Held() == 0; {
		if time.Now().After(end) {
			return fmt.Errorf("no client got a single lock from healthy masters within %v; see logs/", firstLock)
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// storm lets the nemesis loose on the traffic. When it returns without an error, every fault is healed.
func (w *weather) storm(ctx context.Context) error {
	w.Say("storm of %v: %d clients, %d names, %d steps", w.Duration, w.Clients, len(traffic.Groups), len(w.plan))
	w.phase(history.Storm)
	begin := time.Now()
	raging := make(chan error, 1)
	go func() {
		err := w.nemesis.Run(ctx, w.plan)
		if err == nil {
			err = sleep(ctx, time.Until(begin.Add(w.Duration)))
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
			w.Say("%v of %v: %d locks held so far", time.Since(begin).Round(time.Second), w.Duration, w.fleet.Held())
		}
	}
}

// calm ends the traffic and has every client acquire every name once more. It returns when the calm began.
func (w *weather) calm(ctx context.Context) (time.Duration, error) {
	if err := w.eyes.PingAll(ctx); err != nil {
		return 0, err
	}
	calm := w.phase(history.Calm)
	w.Say("calm: every master answers; those that were killed last may vote when their window has passed; every client takes every name within %v from now", Bound)
	if err := sleep(ctx, aftermath); err != nil {
		return 0, err
	}
	if err := w.fleet.All(ctx, stopTimeout, told(traffic.Stop)); err != nil {
		return 0, err
	}
	pass := traffic.Command{
		Do: traffic.Pass, Phase: history.Calm, Names: traffic.Names(stormPrefix), TTL: traffic.TTL,
		Patience: calm + Bound - w.log.Clock().Now(),
	}
	return calm, w.fleet.All(ctx, Bound+stopTimeout, func(int) traffic.Command { return pass })
}

// ghosts has locks taken and released, and others refused, behind the back of masters that are frozen, thaws them, and
// looks at what is left: first a minority is frozen, and locks succeed without it; then a majority, and they fail.
func (w *weather) ghosts(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(w.Seed, 0x67686f737473))
	targets := rng.Perm(Masters)[:Masters/2+1]
	first := faults.Step{Fault: faults.PauseMaster, On: faults.Masters, Targets: targets[1:]}
	more := faults.Step{Fault: faults.PauseMaster, On: faults.Masters, Targets: targets[:1]}
	slices.Sort(first.Targets)

	w.phase(history.Ghosts)
	w.Say("ghosts: locks with a TTL of %v are taken and released behind masters frozen for %v, and refused behind a majority", ghostTTL, ghostFreeze)
	thaw := time.Now().Add(ghostFreeze)
	err := w.nemesis.Inject(ctx, first)
	if err == nil {
		err = w.behind(ctx, "ghost", Bound)
	}
	if err == nil {
		err = sleep(ctx, time.Until(thaw.Add(-refusals)))
	}
	if err == nil {
		err = w.nemesis.Inject(ctx, more)
	}
	if err == nil {
		err = w.behind(ctx, "refused", refusals)
	}
	if err != nil {
		return err // masters that are frozen can be closed
	}
	all := faults.Step{Fault: faults.PauseMaster, On: faults.Masters, Targets: targets}
	if err := w.nemesis.Heal(ctx, all); err != nil {
		return err
	}
	settled := w.phase(history.Settled)
	w.Say("settled: %v from now no master may hold a key", Grace)
	return w.watch(ctx, w.eyes, settled)
}

// behind has every client lock names of its own while masters are frozen.
func (w *weather) behind(ctx context.Context, what string, patience time.Duration) error {
	return w.fleet.All(ctx, patience+stopTimeout, func(client int) traffic.Command {
		cmd := traffic.Command{Do: traffic.Pass, Phase: history.Ghosts, TTL: ghostTTL, Patience: patience}
		for i := range ghostsEach {
			cmd.Names = append(cmd.Names, strings.Join([]string{stormPrefix + what, traffic.Name(client), strconv.Itoa(i)}, ":"))
		}
		return cmd
	})
}

// told makes a command without arguments.
func told(do string) func(int) traffic.Command {
	return func(int) traffic.Command { return traffic.Command{Do: do} }
}
