// Package suite implements the program. It parses the command line, runs the parts of the benchmark, and writes the
// report.
package suite

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

	"github.com/redlock-go/redlock/bench/internal/machine"
	"github.com/redlock-go/redlock/bench/internal/masters"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

// These are the exit statuses.
const (
	exitFailed = 1
	exitUsage  = 2
)

// Main runs the program with the given arguments and returns its exit status.
func Main(args []string, stdout io.Writer, stderr *os.File) int {
	if isWorker() {
		return runAsWorker(stdout, stderr)
	}
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s, stdout, newProgress(stderr)); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	}
	return 0
}

// run runs what s asks for and writes the report.
func run(ctx context.Context, s *settings, out io.Writer, p *progress) error {
	if len(s.compare) > 0 {
		return report.CompareFiles(s.compare[0], s.compare[1], out)
	}
	r, err := s.measure(ctx, p)
	if err != nil {
		p.clear()
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	return s.files.Finish(r, out)
}

// measure runs the parts, or reads the report of an earlier run.
func (s *settings) measure(ctx context.Context, p *progress) (r *report.Report, err error) {
	if s.read != "" {
		return report.ReadReport(s.read)
	}
	before := machine.Observe(ctx)
	m, err := masters.Start(ctx, s.masters, s.containers, s.mastersNeeded())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	r = &report.Report{Setup: report.Setup{
		Started:   time.Now(),
		Go:        runtime.Version(),
		System:    runtime.GOOS + "/" + runtime.GOARCH,
		CPUs:      runtime.NumCPU(),
		CPU:       machine.CPUName(),
		Redis:     m.Version,
		Libraries: peers.Versions(),
		Where:     s.where(),
		Smoke:     s.smoke,
		TTL:       s.ttl,
		Rounds:    s.rounds,
		Rate:      s.rate,
		Pool:      s.pool,
		Before:    before,
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
	r.Setup.After = machine.Observe(ctx)
	r.Setup.After.Load = 0 // the run's own
	r.Setup.Took = time.Since(r.Setup.Started).Round(time.Second)
	return r, nil
}

// where returns a description of where the masters run.
func (s *settings) where() string {
	switch {
	case len(s.masters) > 0:
		return "the user's"
	case s.containers:
		return "containers, by their own address"
	}
	return "redis-server processes"
}

// ready opens a contestant on the first masters of urls, and waits until they may vote.
func ready(ctx context.Context, c *peers.Contestant, urls []string, o peers.Options, p *progress) (err error) {
	if c.Pairer, err = c.Open(urls[:c.Masters], o); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	if v, ok := c.Pairer.(voter); ok && !o.NoGuard {
		if err := awaitVotes(ctx, v, o.TTL, p); err != nil {
			return fmt.Errorf("%s: %w", c.Name, errors.Join(err, c.Close()))
		}
	}
	return nil
}

// readyAll opens the contestants for which there are enough masters. The function that it returns closes them.
func (s *session) readyAll(
	ctx context.Context,
	all []*peers.Contestant,
	urls []string,
	o peers.Options,
) (open []*peers.Contestant, closeAll func() error, err error) {
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
