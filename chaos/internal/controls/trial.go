package controls

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/register"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

const (
	// lookEvery is how often the harness reads the history to find a holder, judgeEvery how often the checker judges.
	lookEvery  = 10 * time.Millisecond
	judgeEvery = 300 * time.Millisecond
)

// trial is one run of a plan, judged by one checker.
type trial struct {
	plan
	Options
	by      checker
	prefix  string
	dir     string
	masters *backend.Backend
	fleet   *traffic.Fleet
	log     *history.Writer
	// registers are the addresses of the registers that the traffic needs, by kind.
	registers map[string]string
	// fades is when the residue of the harm expires by itself; 0 if it does not.
	fades time.Duration
	// ended is the error with which play ended. If the time was up, it says what play was waiting for.
	ended error
}

// dir returns the folder of a trial.
func (p plan) dir(o Options, c Control) string {
	name := c.Folder()
	if p.lock != c.Lock {
		name += "-" + p.lock
	}
	if p.again {
		name += "-again"
	}
	return filepath.Join(o.Dir, name)
}

// run runs a trial and returns the checker's verdict on the whole history.
func run(ctx context.Context, o Options, c Control, p plan) (v check.Verdict, err error) {
	t := &trial{plan: p, Options: o, by: checkers[c.Checker], prefix: c.Lock + ":", dir: p.dir(o, c)}
	logs := filepath.Join(t.dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return v, err
	}
	if t.log, err = history.Create(filepath.Join(t.dir, "harness.jsonl"), history.NewClock()); err != nil {
		return v, err
	}
	defer t.log.Close()
	if t.masters, err = backend.Open(ctx, o.Backend, backend.Options{Masters: p.masters}); err != nil {
		return v, err
	}
	defer func() {
		t.keepLogs(logs)
		err = errors.Join(err, t.masters.Close())
	}()
	if kind := p.groups[0].Register; kind != "" {
		var r *register.Register
		if r, err = register.Start(kind, filepath.Join(t.dir, "register.jsonl")); err != nil {
			return v, err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		t.registers = map[string]string{kind: r.Addr()}
	}
	t.fleet = &traffic.Fleet{
		Runner: o.Runner, Configure: t.config, Size: p.clients, Dir: t.dir, Logs: logs, Log: t.log.Write,
	}
	over, err := t.watch(ctx)
	err = errors.Join(err, t.fleet.Close())
	events, reading := history.ReadDir(t.dir)
	if reading != nil {
		return v, errors.Join(err, reading)
	}
	if over || t.by.before == nil {
		v = t.by.judge(t, events)
	}
	if t.lock != c.Lock { // a client of the lock under test that panics is a finding, not a failure of the harness
		v.Findings = append(v.Findings, check.Clients(events).Findings...)
	}
	if err != nil {
		return v, err
	}
	return v, t.proper(events, v, over)
}

// window returns the restart window of the lock under test. It covers the TTL and the drift.
func (t *trial) window() time.Duration {
	ttl := max(traffic.TTL, t.groups[0].TTL, t.longest)
	return ttl + ttl/100 + 2*time.Millisecond
}

func (t *trial) config(client int) traffic.Config {
	c := traffic.Config{
		Lock: t.lock, URLs: t.masters.URLs(), Window: t.window(), Prefix: t.prefix, Groups: t.groups, Seed: t.Seed,
		Registers: t.registers,
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
	t.phase(history.Storm)
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
	if t.by.before == nil || ctx.Err() != nil {
		return nil
	}
	return t.by.before(ctx, t)
}

// peek reports whether the checker finds something in the events so far.
func (t *trial) peek() (bool, error) {
	if t.by.before != nil {
		return false, nil
	}
	now := t.now()
	events, err := history.ReadDir(t.dir)
	if err != nil {
		return false, err
	}
	return len(t.by.judge(t, until(now, events)).Findings) > 0, nil
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

func (t *trial) now() time.Duration { return t.log.Clock().Now() }

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
	return t.fleet.All(ctx, stopTimeout, func(int) traffic.Command { return traffic.Command{Do: traffic.Stop} })
}

func (t *trial) note(kind history.Kind, fault string, on faults.Side, targets ...int) {
	t.log.Write(history.Event{Kind: kind, Fault: fault, On: string(on), Targets: targets})
}

// phase starts a phase of the trial and returns its start.
func (t *trial) phase(name string) time.Duration {
	now := t.now()
	t.log.Write(history.Event{T: now, Kind: history.Phase, Phase: name})
	return now
}

// look records repeatedly what is left on the masters, until the grace period that begins at since is over.
func (t *trial) look(ctx context.Context, what history.Kind, since time.Duration) error {
	inspector, err := t.masters.NewInspector()
	if err != nil {
		return err
	}
	return errors.Join(inspector.Watch(ctx, t.log, what, since+scenarios.Grace), inspector.Close())
}

func (t *trial) names() []string { return traffic.Names(t.prefix, t.groups) }

func (t *trial) keepLogs(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for m := range t.masters.Masters() {
		text, err := t.masters.Log(ctx, m)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("master-%d.log", m)), []byte(text), 0o644)
		}
		if err != nil {
			t.Say("the log of master %d is not kept: %v", m, err)
		}
	}
}
