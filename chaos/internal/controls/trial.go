package controls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/environment"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

const (
	// lookEvery is how often the harness reads the history to find a holder, judgeEvery how often the checker judges.
	lookEvery  = 10 * time.Millisecond
	judgeEvery = 300 * time.Millisecond
)

// trial is one run of a control, judged by its checker.
type trial struct {
	Control
	Options
	*environment.Environment
	by check.Checker
	// before prepares the verdict once the harm is over. If it is nil, the checker can judge at any time.
	before  func(ctx context.Context, t *trial) error
	prefix  string
	dir     string
	masters *backend.Backend
	// fades is when the residue of the harm expires by itself; 0 if it does not.
	fades time.Duration
	// ended is the error with which play ended. If the time was up, it says what play was waiting for.
	ended error
}

// run runs a trial and returns the checker's verdict on the whole history.
func run(ctx context.Context, o Options, c Control) (v check.Verdict, err error) {
	by, ok := check.Lookup(c.Checker)
	if !ok {
		return v, fmt.Errorf("the broken lock %q is to be caught by %q, which is no checker", c.Lock, c.Checker)
	}
	c.masters, c.clients = cmp.Or(c.masters, 3), cmp.Or(c.clients, 3)
	t := &trial{Control: c, Options: o, by: by, before: before[c.Checker], prefix: c.Lock + ":", dir: c.dir(o)}
	if t.masters, err = backend.Open(ctx, backend.Processes, backend.Options{Masters: c.masters}); err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, t.masters.Close()) }()
	t.Environment, err = environment.Open(environment.Settings{
		Dir: t.dir, Logs: filepath.Join(t.dir, "logs"), Masters: t.masters, Runner: o.Runner, Clients: c.clients,
		Groups: c.groups, Configure: t.config, Say: o.Say,
	})
	if err != nil {
		return v, err
	}
	over, err := t.watch(ctx)
	err = errors.Join(err, t.Close(ctx))
	events, reading := history.ReadDir(t.dir)
	if reading != nil {
		return v, errors.Join(err, reading)
	}
	if over || t.before == nil {
		v = t.judge(events)
	}
	if c.instead != "" { // a client of the lock under test that panics is a finding, not a failure of the harness
		v.Findings = append(v.Findings, check.Clients(events).Findings...)
	}
	if err != nil {
		return v, err
	}
	return v, t.proper(events, v, over)
}

func (t *trial) config(client int) traffic.Config {
	c := traffic.Config{
		Lock: t.uses(), URLs: t.masters.URLs(), MaxTTL: max(traffic.TTL, t.groups[0].TTL, t.longest),
		Prefix: t.prefix, Seed: t.Seed,
	}
	if client == 0 {
		c.ClockAhead = t.ahead
	}
	return c
}

// watch runs traffic and harm until the checker finds something, the harm is over, or the time is up. It reports
// whether the harm was done in full.
func (t *trial) watch(ctx context.Context) (over bool, err error) {
	inTime, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	t.Phase(history.Storm)
	if err := t.begin(inTime); err != nil {
		return false, err
	}
	harmful, enough := context.WithCancel(inTime)
	defer enough()
	var harmed chan struct{} // without harm it is never closed
	if t.harm != nil || t.ends() {
		harmed = make(chan struct{})
		go func() {
			defer close(harmed)
			t.ended = t.play(harmful)
		}()
		defer func() {
			enough()
			<-harmed
		}()
	}
	tick := time.NewTicker(judgeEvery)
	defer tick.Stop()
	for {
		select {
		case <-harmed:
			if inTime.Err() == nil {
				return t.ended == nil, t.ended
			}
			return false, ctx.Err() // interrupted
		case <-inTime.Done():
			return false, ctx.Err()
		case <-tick.C:
			if found, err := t.peek(); found || err != nil {
				return false, err
			}
		}
	}
}

// play does the harm, or lets the traffic run, and then takes the checker's preparatory step.
func (t *trial) play(ctx context.Context) error {
	if t.harm != nil {
		if err := t.harm(ctx, t); err != nil {
			return err
		}
	} else {
		if err := t.awaitHolder(ctx, 0); err != nil {
			return err
		}
		pause(ctx, t.lasts)
	}
	if t.before == nil || ctx.Err() != nil {
		return nil
	}
	return t.before(ctx, t)
}

// peek reports whether the checker finds something in the events so far.
func (t *trial) peek() (bool, error) {
	if t.before != nil {
		return false, nil
	}
	now := t.Now()
	events, err := history.ReadDir(t.dir)
	if err != nil {
		return false, err
	}
	return len(t.judge(until(now, events)).Findings) > 0, nil
}

// awaitHolder waits until a client has acquired a lock after the given time.
func (t *trial) awaitHolder(ctx context.Context, after time.Duration) error {
	return t.awaitHolders(ctx, after, 1)
}

// awaitHolders waits until clients have acquired locks that often after the given time.
func (t *trial) awaitHolders(ctx context.Context, after time.Duration, times int) error {
	return t.await(ctx, "got a lock", func(events []history.Event) bool {
		n := 0
		for _, e := range events {
			if e.T > after && e.Kind == history.Acquired {
				n++
			}
		}
		return n >= times
	})
}

// await waits until the history satisfies shows. did says in an error what no client did.
func (t *trial) await(ctx context.Context, did string, shows func([]history.Event) bool) error {
	for ctx.Err() == nil {
		events, err := history.ReadDir(t.dir)
		if err != nil || shows(events) {
			return err
		}
		pause(ctx, lookEvery)
	}
	return fmt.Errorf("no client %s: %w", did, ctx.Err())
}

// goesOn reports whether round n should begin.
func (t *trial) goesOn(ctx context.Context, n int) bool {
	return ctx.Err() == nil && (t.rounds == 0 || n < t.rounds)
}

// stop ends the traffic. When it returns, no client holds or wants a lock.
func (t *trial) stop(ctx context.Context) error {
	return t.Fleet.All(ctx, stopTimeout, func(int) traffic.Command { return traffic.Command{Do: traffic.Stop} })
}

// inject injects a fault into masters, all at once. heal ends it.
func (t *trial) inject(ctx context.Context, fault string, masters ...int) error {
	return t.Nemesis.Inject(ctx, faults.Step{Fault: fault, On: faults.Masters, Targets: masters})
}

func (t *trial) heal(ctx context.Context, fault string, masters ...int) error {
	return t.Nemesis.Heal(ctx, faults.Step{Fault: fault, On: faults.Masters, Targets: masters})
}

func (t *trial) names() []string { return traffic.Names(t.prefix, t.groups) }
