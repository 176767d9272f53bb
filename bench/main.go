// Command bench compares what a lock costs: redlock over five masters and over one, and the usual alternatives, and
// the kinds of locks among each other, in one interleaved run on masters that it starts for itself.
//
//	go run ./bench            about three minutes
//	go run ./bench -smoke     under half a minute
//	go run ./bench -check     exits with 1 and names what misses its target
//	go run ./bench -h
//
// Absolute figures belong to the machine; what travels are the ratios. They are taken round by round, because whatever
// disturbs the machine in one round disturbs every contestant of it, and stand as a median with their lowest and
// highest, because a median without its spread says nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

// errShort says that a target was missed; the report names which.
var errShort = errors.New("a target was missed")

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s, os.Stdout, newProgress(os.Stderr)); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(exitFailed)
	}
}

// run measures what s asks for and writes the report.
func run(ctx context.Context, s *settings, out io.Writer, p *progress) (err error) {
	load := loadAverage()
	m, err := startMasters(ctx, quorumMasters)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()

	r := &report{Setup: setup{
		Started: time.Now(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Load: load, Redis: m.version,
		Smoke: s.smoke, TTL: s.ttl, Slice: s.latencyPlan.slice, Rounds: s.latencyPlan.rounds, Pool: s.pool, Contestants: s.contestants,
	}}
	if err := measure(ctx, s, m, r, p); err != nil {
		p.clear()
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	return conclude(s, r, out)
}

// conclude judges the report if that was asked for, writes it, and returns an error if a target was missed.
func conclude(s *settings, r *report, out io.Writer) error {
	if s.check {
		slack := noSlack
		if s.smoke {
			slack = smokeSlack
		}
		r.Checks = judge(r, slack)
	}
	if s.json {
		if err := r.writeJSON(out); err != nil {
			return err
		}
	} else {
		r.writeTables(out)
	}
	if short(r.Checks) > 0 {
		return fmt.Errorf("%w: %s", errShort, names(r.Checks))
	}
	return nil
}

// measure runs the parts that were asked for. The frozen part comes last, when the masters are old enough for the
// restart guard to let them vote on locks with its long TTL; in a smoke run, which has no time for that, it comes first,
// unguarded, while they grow old enough for the other part.
func measure(ctx context.Context, s *settings, m *masters, r *report, p *progress) error {
	parts := []func() error{
		func() (err error) {
			if s.latency {
				r.Latency, err = latencyPart(ctx, s, m, p)
			}
			return err
		},
		func() (err error) {
			if s.kinds {
				r.Kinds, err = kindsPart(ctx, s, m, p)
			}
			return err
		},
		func() (err error) {
			if s.frozen {
				r.Frozen, err = frozenPart(ctx, s, m, p)
			}
			return err
		},
	}
	if s.smoke {
		slices.Reverse(parts)
	}
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func latencyPart(ctx context.Context, s *settings, m *masters, p *progress) (rows []*row, err error) {
	plan := s.latencyPlan
	o := openOptions{ttl: s.ttl, pool: s.pool}
	p.stage("latency: %d rounds, about %v; first the masters must be old enough to vote (restart window %v)",
		plan.rounds, plan.estimate(len(s.contestants)).Round(time.Second), s.ttl)
	for _, c := range s.contestants {
		if err := ready(ctx, c, m, o, p); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
	}
	if err := warmUp(ctx, plan, s.contestants, p); err != nil {
		return nil, err
	}
	stop, err := profile(s)
	if err != nil {
		return nil, err
	}
	rows, err = measureLatency(ctx, plan, s.contestants, p)
	return rows, errors.Join(err, stop())
}

func frozenPart(ctx context.Context, s *settings, m *masters, p *progress) (f *frozenReport, err error) {
	plan := s.frozenPlan
	c := allContestants()[0]
	f = &frozenReport{Contestant: c.Name, Callers: frozenCallers, TTL: frozenTTL, Guard: !s.smoke, Window: plan.window}
	p.stage("frozen: %d %s, about %v", plan.cycles, plural(plan.cycles, "cycle"), plan.estimate().Round(time.Second))
	if err := ready(ctx, c, m, openOptions{ttl: f.TTL, pool: f.Callers, noGuard: !f.Guard}, p); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	f.Cycles, err = measureFrozen(ctx, plan, m, c, p)
	return f, err
}

// ready opens a contestant and waits until its masters may vote.
func ready(ctx context.Context, c *contestant, m *masters, o openOptions, p *progress) (err error) {
	if c.pairer, err = c.open(m.urls[:c.Masters], o); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	if v, ok := c.pairer.(voter); ok && !o.noGuard {
		if err := awaitVotes(ctx, v, o.ttl, p); err != nil {
			return fmt.Errorf("%s: %w", c.Name, errors.Join(err, c.Close()))
		}
	}
	return nil
}
