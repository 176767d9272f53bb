package controls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/environment"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// real is the traffic and the harm that expose a flaw on real masters.
type real struct {
	clients int // 0 means 2
	groups  []traffic.Group
	// longest is the longest TTL that a client asks for, if it exceeds those of the groups.
	longest time.Duration
	// harm is the harm to masters or clients. It is nil if contention suffices.
	harm harm
	// rounds is the number of rounds of harm. 0 means until the flaw has shown.
	rounds int
	// lasts is the duration of the traffic if there is no harm. 0 means until the flaw has shown.
	lasts time.Duration
	// proof gives the lock under test the same traffic and harm, because the harm could be mistaken for a flaw.
	proof bool
	// instead is the lock that the clients use in place of the control's; "" means that one.
	instead string
}

func (real) set() int { return masters }

// ends reports whether the trial has a fixed end.
func (r real) ends() bool { return r.rounds > 0 || r.lasts > 0 }

// masterCount is the number of masters of a trial.
const masterCount = 3

// bound is the maximum duration of a trial's traffic. Most flaws show within seconds; a busy machine needs longer.
const bound = 2 * time.Minute

// try tries a control, and if it needs a proof, the lock under test at the same time.
func (r real) try(ctx context.Context, o Options, c Control) (report.Control, error) {
	var broken check.Verdict
	var sound *check.Verdict
	var err1, err2 error
	var both errgroup.Group
	both.Go(func() error { broken, err1 = r.run(ctx, o, c); return nil })
	if r.proof {
		both.Go(func() error {
			v, err := r.under(traffic.Quorum).run(ctx, o, c)
			sound, err2 = &v, err
			return nil
		})
	}
	_ = both.Wait()
	return c.told(report.Control{Where: "folder: " + r.dir(o, c)}, broken, sound), errors.Join(err1, err2)
}

// told returns what the verdicts on the broken lock and on the lock under test say of the control. sound is nil if the
// lock under test was not tried.
func (c Control) told(r report.Control, broken check.Verdict, sound *check.Verdict) report.Control {
	r = r.Of(broken)
	switch {
	case sound != nil && !sound.Held(): // so the checker need not have caught the flaw
		r.Caught, r.Text = false, "the same traffic and harm show this in the lock under test: "+said(*sound)
	case !r.Caught:
	case !strings.Contains(r.Text, c.Says):
		r.Caught, r.Text = false, "something else was found: "+r.Text
	case sound != nil:
		r.Text += "; the same traffic and harm with the lock under test: nothing found, " + sound.Looked
	}
	return r
}

// said returns the first finding of a verdict, or why it has none.
func said(v check.Verdict) string {
	if len(v.Findings) == 0 {
		return v.Undecided
	}
	return v.Findings[0].Text
}

// under returns the trial with another lock.
func (r real) under(lock string) real {
	r.instead = lock
	return r
}

// dir returns the folder of a trial of the control.
func (r real) dir(o Options, c Control) string {
	name := strings.ReplaceAll(c.Lock, " ", "-")
	if r.instead != "" {
		name += "-" + r.instead
	}
	return filepath.Join(o.Dir, name)
}

// run runs one trial, and prints its result. A trial that did not run properly is an error, which has what it found.
func (r real) run(ctx context.Context, o Options, c Control) (check.Verdict, error) {
	begin := time.Now()
	v, err := r.watched(ctx, o, c)
	lock, took := cmp.Or(r.instead, c.Lock), time.Since(begin).Round(time.Second/10)
	switch {
	case err != nil:
		if len(v.Findings) > 0 {
			err = fmt.Errorf("%w; findings nevertheless: %s", err, v.Findings[0].Text)
		}
		err = fmt.Errorf("the control %s did not run properly on the lock %s, see %s: %w", c.Lock, lock, r.dir(o, c), err)
	case len(v.Findings) > 0:
		o.Say("control %s: after %v %s found in the lock %s: %s", c.Lock, took, c.Checker, lock, v.Findings[0].Text)
	default:
		o.Say("control %s: in %v %s found nothing in the lock %s (%s)", c.Lock, took, c.Checker, lock, v.Looked)
	}
	return v, err
}

const (
	// lookEvery is how often the harness reads the history to find a holder, judgeEvery how often the checker judges.
	lookEvery  = 10 * time.Millisecond
	judgeEvery = 300 * time.Millisecond
)

// trial is one run of a control, judged by its checker.
type trial struct {
	Control
	real
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

// watched runs a trial and returns the checker's verdict on the whole history.
func (r real) watched(ctx context.Context, o Options, c Control) (v check.Verdict, err error) {
	by, ok := check.Lookup(c.Checker)
	if !ok {
		return v, fmt.Errorf("the broken lock %q is to be caught by %q, which is no checker", c.Lock, c.Checker)
	}
	t := &trial{Control: c, real: r, Options: o, by: by, before: before[c.Checker], prefix: c.Lock + ":", dir: r.dir(o, c)}
	if t.masters, err = backend.Open(ctx, backend.Processes, backend.Options{Masters: masterCount}); err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, t.masters.Close()) }()
	t.Environment, err = environment.Open(environment.Settings{
		Dir: t.dir, Logs: filepath.Join(t.dir, "logs"), Masters: t.masters, Runner: o.Runner, Clients: cmp.Or(r.clients, 2),
		Groups: r.groups, Configure: t.config, Say: o.Say,
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
	if r.instead != "" { // a client of the lock under test that panics is a finding, not a failure of the harness
		v.Findings = append(v.Findings, check.Clients(events).Findings...)
	}
	if err != nil {
		return v, err
	}
	return v, t.proper(events, v, over)
}

func (t *trial) config(int) traffic.Config {
	return traffic.Config{
		Lock: cmp.Or(t.instead, t.Lock), URLs: t.masters.URLs(), MaxTTL: max(traffic.TTL, t.groups[0].TTL, t.longest),
		Prefix: t.prefix, Seed: t.Seed,
	}
}

// watch runs traffic and harm until the checker finds something, the harm is over, or the time is up. It reports
// whether the harm was done in full.
func (t *trial) watch(ctx context.Context) (over bool, err error) {
	inTime, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	t.Phase(history.Storm)
	if err := t.Fleet.StartAll(inTime); err != nil {
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
	return t.await(ctx, "got a lock", func(events []history.Event) bool {
		return slices.ContainsFunc(events, func(e history.Event) bool { return e.T > after && e.Kind == history.Acquired })
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
