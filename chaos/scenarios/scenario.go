// Package scenarios puts the parts of the harness together: masters, traffic, faults and checkers, in the order of a run.
package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/backend"
	"github.com/redlock-go/redlock/chaos/check"
	"github.com/redlock-go/redlock/chaos/history"
	"github.com/redlock-go/redlock/chaos/traffic"
)

// Masters is how many there are in a run.
const Masters = 5

// Window is the restart window of the traffic: it covers the longest TTL and its drift.
const Window = traffic.LongTTL + traffic.LongTTL/100 + 2*time.Millisecond

const (
	// rounding is what a master's uptime in whole seconds may hide, and what the guard waits longer for it.
	rounding = time.Second
	// backoff is the longest pause between two attempts of a waiting Lock.
	backoff = time.Second
	// Grace is how soon after its return nothing may be left on a master.
	Grace = 2 * time.Second
	// Bound is how soon after the storm each client must have had each name: the masters killed last must be allowed to
	// vote again, what a killed client held must expire, and a waiter must wake up.
	Bound = Window + rounding + traffic.LongTTL + backoff
)

// Options are what a run is made of.
type Options struct {
	// Backend is where the masters come from, by name.
	Backend string
	// Duration is how long the storm lasts.
	Duration time.Duration
	// Clients is how many client processes there are.
	Clients int
	// Seed decides the faults and what the clients draw.
	Seed uint64
	// Dir is an empty folder for histories and logs.
	Dir string
	// Client makes the command of a client process.
	Client func() *exec.Cmd
	// Say tells a person how the run goes.
	Say func(format string, args ...any)
}

// The least that a run can be made of. In a shorter storm an outage and a dead holder leave some names no time.
const (
	LeastDuration = 20 * time.Second
	LeastClients  = 2
)

// Check returns nil if a run can be made of the options, and otherwise says which value is out of which bound.
func (o Options) Check() error {
	var errs []error
	if o.Duration < LeastDuration {
		errs = append(errs, fmt.Errorf("duration %v: a storm takes at least %v", o.Duration, LeastDuration))
	}
	if o.Clients < LeastClients {
		errs = append(errs, fmt.Errorf("clients %d: it takes at least %d to contend", o.Clients, LeastClients))
	}
	return errors.Join(append(errs, backend.Check(o.Backend))...)
}

// Result is how a run ended.
type Result struct {
	// Verdicts are what the checkers say of the lock under test.
	Verdicts []check.Verdict
	// Controls are what they said of the naive lock.
	Controls []Caught
}

// Good reports whether everything held, and every control was caught.
func (r Result) Good() bool {
	return len(r.Verdicts) > 0 && len(r.Controls) > 0 &&
		!slices.ContainsFunc(r.Verdicts, func(v check.Verdict) bool { return !v.Held() }) &&
		!slices.ContainsFunc(r.Controls, func(c Caught) bool { return !c.Caught })
}

// Run starts masters, runs the control and then the storm on them, and returns what the checkers say. An error means
// that there is no verdict: the masters could not be started, or ctx ended.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Check(); err != nil {
		return Result{}, err
	}
	o.Say("starting %d masters (%s)", Masters, o.Backend)
	masters, err := backend.Open(ctx, o.Backend, Masters)
	if err != nil {
		return Result{}, err
	}
	eyes, err := backend.Look(masters.URLs())
	if err != nil {
		return Result{}, errors.Join(err, masters.Close())
	}
	r, err := run(ctx, o, masters, eyes)
	saveLogs(ctx, o, masters)
	return r, errors.Join(err, eyes.Close(), masters.Close())
}

func run(ctx context.Context, o Options, masters backend.Backend, eyes backend.Eyes) (Result, error) {
	var r Result
	var err error
	// The restart window of the fresh masters runs while the control is at work: it does not ask for votes.
	if r.Controls, err = Control(ctx, o, masters.URLs()[0]); err != nil {
		return r, err
	}
	if err := eyes.Wipe(ctx, 0); err != nil {
		return r, err
	}
	r.Verdicts, err = storm(ctx, o, masters, eyes)
	return r, err
}

// stage is the common ground of control and storm: a folder for the histories of one fleet, and the harness's own.
type stage struct {
	Options
	dir   string
	log   *history.Writer
	fleet *traffic.Fleet
}

func newStage(o Options, name string, configure func(client int) traffic.Config) (*stage, error) {
	dir, logs := filepath.Join(o.Dir, name), filepath.Join(o.Dir, "logs")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(logs, 0o755)); err != nil {
		return nil, err
	}
	log, err := history.Create(filepath.Join(dir, "harness.jsonl"), history.NewClock())
	if err != nil {
		return nil, err
	}
	return &stage{
		Options: o, dir: dir, log: log,
		fleet: &traffic.Fleet{
			Command: o.Client, Configure: configure, Size: o.Clients,
			Dir: dir, Logs: logs, Prefix: name + "-", Log: log.Write,
		},
	}, nil
}

// phase begins a part of the run.
func (s *stage) phase(name string) time.Duration {
	now := s.log.Clock().Now()
	s.log.Write(history.Event{T: now, Kind: history.Phase, Phase: name})
	return now
}

// broken writes down that the harness itself failed.
func (s *stage) broken(err error) {
	if err != nil {
		s.log.Write(history.Event{Kind: history.Broken, Err: err.Error()})
	}
}

// close ends the clients and returns the whole history, which it also saves in one file.
func (s *stage) close(file string) ([]history.Event, error) {
	s.broken(s.fleet.Close())
	if err := s.log.Close(); err != nil {
		return nil, err
	}
	events, err := history.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	return events, history.Save(filepath.Join(s.Dir, file), events)
}

// watch takes snapshots of what the masters hold until after grace, counted from the time since.
func (s *stage) watch(ctx context.Context, eyes backend.Eyes, since time.Duration) error {
	const every = 250 * time.Millisecond
	for last := false; !last; {
		left := since + Grace - s.log.Clock().Now()
		last = left <= 0
		for m := range eyes {
			begin := s.log.Clock().Now()
			keys, err := eyes.Keys(ctx, m)
			if err != nil {
				return fmt.Errorf("look at master %d: %w", m, err)
			}
			s.log.Write(history.Event{T: begin, Kind: history.Keys, Master: m, Held: keys})
		}
		if err := sleep(ctx, min(max(left, 0), every)); err != nil {
			return err
		}
	}
	return nil
}

func saveLogs(ctx context.Context, o Options, masters backend.Backend) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for m := range masters.URLs() {
		text, err := masters.Log(ctx, m)
		if err != nil {
			text += "\n(the log could not be read: " + err.Error() + ")\n"
		}
		path := filepath.Join(o.Dir, "logs", fmt.Sprintf("master-%d.log", m))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			o.Say("the log of master %d is not kept: %v", m, err)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
