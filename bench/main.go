// Command bench compares what a lock costs: redlock over a quorum of masters and over one, the usual alternatives, and
// the kinds of locks among each other, in one interleaved run on masters that it starts for itself; near and far, alone
// and in a crowd, healthy and with a master that fails.
//
//	go run ./bench            all parts, about a quarter of an hour
//	go run ./bench latency    one of them
//	go run ./bench -smoke     about a minute
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
	"time"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

var (
	errShort  = errors.New("a target was missed")
	errSlower = errors.New("slower by more than the noise")
)

func main() {
	if worked() {
		return
	}
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
		stop()
		os.Exit(exitFailed) //nolint:gocritic // stop has been called
	}
}

// run does what s asks for and writes the report.
func run(ctx context.Context, s *settings, out io.Writer, p *progress) error {
	if len(s.compare) > 0 {
		return compareFiles(s.compare[0], s.compare[1], out)
	}
	r, err := s.gather(ctx, p)
	if err != nil {
		p.clear()
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	return conclude(s, r, out)
}

// gather measures, or reads what was measured.
func (s *settings) gather(ctx context.Context, p *progress) (r *report, err error) {
	if s.files.read != "" {
		return readReport(s.files.read)
	}
	before := lookAround(ctx)
	m, err := startMasters(ctx, s, s.wanted())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	r = &report{Setup: setup{
		Started: time.Now(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), CPU: cpuName(),
		Redis: m.version, Where: s.where(), Smoke: s.smoke, TTL: s.ttl, Rounds: s.rounds, Rate: s.rate, Pool: s.pool, Before: before,
	}}
	for _, part := range s.parts {
		r.Setup.Parts = append(r.Setup.Parts, part.name)
	}
	session := &session{settings: s, masters: m, report: r, progress: p}
	for _, part := range s.parts {
		if err := part.run(ctx, session); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	r.Setup.After = lookAround(ctx)
	r.Setup.After.Load = 0 // the run's own
	r.Setup.Took = time.Since(r.Setup.Started).Round(time.Second)
	return r, nil
}

// conclude judges the report if that was asked for, writes it, and returns an error if a target was missed.
func conclude(s *settings, r *report, out io.Writer) error {
	if s.check {
		r.Checks = judge(r, r.Setup.Smoke)
	}
	if s.json {
		if err := r.writeJSON(out); err != nil {
			return err
		}
	} else {
		r.writeTables(out)
	}
	if err := s.files.write(r); err != nil {
		return err
	}
	if short(r.Checks) > 0 {
		return fmt.Errorf("%w: %s", errShort, names(r.Checks))
	}
	return nil
}

// ready opens a contestant on the first masters of urls and waits until they may vote.
func ready(ctx context.Context, c *contestant, urls []string, o openOptions, p *progress) (err error) {
	if c.pairer, err = c.open(urls[:c.Masters], o); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	if v, ok := c.pairer.(voter); ok && !o.noGuard {
		if err := awaitVotes(ctx, v, o.ttl, p); err != nil {
			return fmt.Errorf("%s: %w", c.Name, errors.Join(err, c.Close()))
		}
	}
	return nil
}

// readyAll opens contestants that the masters suffice for. The function it returns closes them.
func (s *session) readyAll(ctx context.Context, all []*contestant, urls []string, o openOptions) (open []*contestant, closeAll func() error, err error) {
	closeAll = func() error {
		var errs []error
		for _, c := range open {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	for _, c := range all {
		if c.Masters > len(urls) {
			s.progress.stage("%s is left out: it wants %d masters, and there are %d", c.Name, c.Masters, len(urls))
			continue
		}
		if err := ready(ctx, c, urls, o, s.progress); err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		open = append(open, c)
	}
	if len(open) == 0 {
		return nil, nil, errors.New("no contestant is left")
	}
	return open, closeAll, nil
}
