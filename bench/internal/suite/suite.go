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

	"github.com/redlock-go/redlock"
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
	if err := run(ctx, s, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	}
	return 0
}

// run runs what s asks for and writes the report.
func run(ctx context.Context, s *settings, out io.Writer, p io.Writer) error {
	if len(s.compare) > 0 {
		return report.CompareFiles(s.compare[0], s.compare[1], out)
	}
	r, err := s.measure(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	return s.files.Finish(r, out)
}

// A session is one run: its settings, its masters, and its report.
type session struct {
	*settings
	masters  *masters.Set
	report   *report.Report
	progress io.Writer
}

// measure runs the parts, or reads the report of an earlier run.
func (s *settings) measure(ctx context.Context, p io.Writer) (r *report.Report, err error) {
	if s.read != "" {
		return report.ReadReport(s.read)
	}
	load, before := machine.LoadAverage(), machine.CPUTimes()
	m, err := masters.Start(ctx, s.masters, s.mastersNeeded())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	where := "redis-server processes, on the callers' machine"
	if len(s.masters) > 0 {
		where = "the user's"
	}
	r = &report.Report{Setup: report.Setup{
		Started: time.Now(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		CPU: machine.CPUName(), Redis: m.Version, Peers: peers.Versions(), Where: where, Smoke: s.smoke, TTL: s.ttl,
		Load: load,
	}}
	session := &session{settings: s, masters: m, report: r, progress: p}
	for _, part := range s.parts {
		r.Setup.Parts = append(r.Setup.Parts, part.name)
		if err := part.run(ctx, session); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	r.Setup.Steal = machine.CPUTimes().StealSince(before)
	return r, nil
}

// say announces a new stage.
func (s *session) say(format string, args ...any) {
	fmt.Fprintf(s.progress, "bench: "+format+"\n", args...)
}

// enough reports whether there are as many masters as a contestant wants, and says so if not.
func (s *session) enough(c *peers.Contestant) bool {
	if c.Masters > len(s.masters.URLs) {
		s.say("%s is left out: it wants %d masters, and there are %d", c.Name, c.Masters, len(s.masters.URLs))
		return false
	}
	return true
}

// openAll opens the contestants for which there are enough masters, and waits until these may vote. The function that
// it returns closes them.
func (s *session) openAll(
	ctx context.Context, all []*peers.Contestant, urls []string, o peers.Options,
) (open []*peers.Contestant, closeAll func() error, err error) {
	closeAll = func() error {
		var errs []error
		for _, c := range open {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	for _, c := range all {
		if !s.enough(c) {
			continue
		}
		if err := ready(ctx, c, urls, o); err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		open = append(open, c)
	}
	if len(open) == 0 {
		return nil, nil, errors.New("no contestant is left")
	}
	return open, closeAll, nil
}

// ready opens a contestant on the first masters of urls, and waits until they may vote.
func ready(ctx context.Context, c *peers.Contestant, urls []string, o peers.Options) (err error) {
	if c.Locker, err = c.Open(urls[:c.Masters], o); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	if v, ok := c.Locker.(voter); ok && !o.NoGuard {
		if err := awaitVotes(ctx, v, o.TTL); err != nil {
			return fmt.Errorf("%s: %w", c.Name, errors.Join(err, c.Close()))
		}
	}
	return nil
}

// A voter reports whether its masters may vote.
type voter interface {
	Nodes(ctx context.Context) ([]redlock.NodeStatus, error)
}

const (
	voteSlack = 15 * time.Second // in addition to the restart window, for a busy machine
	votePoll  = 20 * time.Millisecond
)

// awaitVotes waits until every master may vote. The masters have just been started, and the restart guard does not
// count the votes of a master whose uptime is shorter than the restart window.
func awaitVotes(ctx context.Context, v voter, window time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, window+voteSlack,
		fmt.Errorf("not every master may vote after %v", window+voteSlack))
	defer cancel()
	for {
		nodes, err := v.Nodes(ctx)
		var left time.Duration
		ready := len(nodes) > 0
		for _, n := range nodes {
			if !n.MayVote {
				ready, err = false, n.Err
				left = max(left, n.VoteIn)
			}
		}
		if ready {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(max(left, votePoll)):
		}
	}
}
