package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/chaos/backend"
	"github.com/redlock-go/redlock/chaos/check"
	"github.com/redlock-go/redlock/chaos/history"
	"github.com/redlock-go/redlock/chaos/traffic"
)

// Caught is what one checker said of a lock that is broken on purpose.
type Caught struct {
	// Lock is the lock, and Checker who was to catch it.
	Lock, Checker string
	// Caught: it did.
	Caught bool
	// Text is what it found, or why that is not what it was to find.
	Text string
}

const (
	naiveLock     = "SETNX + EXPIRE + plain DEL"
	controlPrefix = "control:"
	// half is the name that a client takes with SETNX alone.
	half = controlPrefix + "half"
	// controlStorm is long enough: 1.6 s after the first holder of the overstayed name, the third one comes too early.
	controlStorm = 5 * time.Second
	controlBound = traffic.TTL + 2*backoff
	halfTimeout  = 10 * time.Second
)

// Control runs the traffic of the storm, without faults of masters, over a naive lock on the one master at url, and
// returns whether each checker caught it:
//   - exclusion, as an unlock removes whatever lock is there;
//   - liveness and residue, as a client that died between SETNX and EXPIRE blocks its name for ever.
//
// A checker that lets it pass would let anything pass.
func Control(ctx context.Context, o Options, url string) ([]Caught, error) {
	config := traffic.Config{
		Lock: traffic.Naive, URLs: []string{url}, Window: Window, Prefix: controlPrefix, Workers: workers, Seed: o.Seed,
	}
	s, err := newStage(o, "control", func(int) traffic.Config { return config })
	if err != nil {
		return nil, err
	}
	eyes, err := backend.Look([]string{url})
	if err != nil {
		return nil, err
	}
	defer eyes.Close()
	s.Say("control: %s on one master, the same traffic for %v", naiveLock, controlStorm)
	err = s.control(ctx, eyes, config)
	events, closing := s.close("control.jsonl")
	if err := errors.Join(err, closing); err != nil {
		return nil, fmt.Errorf("the control did not run: %w", err)
	}
	for _, v := range []check.Verdict{check.Broken(events), check.Sound(events)} {
		if !v.Held() {
			return nil, fmt.Errorf("the control did not run: %s", v.Findings[0].Text)
		}
	}
	caught := []Caught{
		judge(check.Exclusion(events), controlPrefix+"overstayed"),
		judge(check.Liveness(events, s.fleet.Names(), controlNames(), controlBound), half),
		judge(check.Residue(events, 1, Grace), half),
	}
	for _, c := range caught {
		s.Say("control: %s", c)
	}
	return caught, nil
}

func (c Caught) String() string {
	if c.Caught {
		return fmt.Sprintf("caught by %s: %s", c.Checker, c.Text)
	}
	return fmt.Sprintf("NOT caught by %s: %s", c.Checker, c.Text)
}

func (s *stage) control(ctx context.Context, eyes backend.Eyes, config traffic.Config) error {
	s.phase(history.Storm)
	if err := s.fleet.StartAll(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, controlStorm); err != nil {
		return err
	}
	if err := s.fleet.All(ctx, stopTimeout, told(traffic.Stop)); err != nil {
		return err
	}

	config.HalfLock = half
	dying := &traffic.Fleet{
		Command: s.Client, Configure: func(int) traffic.Config { return config }, Size: 1,
		Dir: s.fleet.Dir, Logs: s.fleet.Logs, Prefix: "half-", Log: s.log.Write,
	}
	err := errors.Join(dying.StartAll(ctx), dying.WaitGone(ctx, 0, halfTimeout))
	if err := errors.Join(err, dying.Close()); err != nil {
		return err
	}

	s.phase(history.Calm)
	pass := traffic.Command{
		Do: traffic.Pass, Phase: history.Calm, Names: controlNames(), TTL: traffic.TTL, Patience: controlBound,
	}
	if err := s.fleet.All(ctx, controlBound+stopTimeout, func(int) traffic.Command { return pass }); err != nil {
		return err
	}
	settled := s.phase(history.Settled)
	if err := s.watch(ctx, eyes, settled); err != nil {
		return err
	}
	return s.fleet.Quit(ctx)
}

func controlNames() []string { return append(traffic.Names(controlPrefix), half) }

// judge says whether a checker found what it was to find: something about the given name.
func judge(v check.Verdict, name string) Caught {
	c := Caught{Lock: naiveLock, Checker: v.Checker, Text: "nothing found"}
	for _, f := range v.Findings {
		if f.Name == name {
			c.Caught, c.Text = true, f.Text
			return c
		}
		c.Text = "it found only: " + f.Text
	}
	return c
}
