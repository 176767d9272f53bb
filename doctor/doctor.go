// Package doctor examines the masters of a Locker, this host, and the Locker's settings, and reports what endangers a
// lock: eviction, replicas, masters that fail together, clocks, persistence, pauses, connections, missing rights, other
// users of the masters, and settings that do not fit them.
//
//	report, err := doctor.Examine(ctx, locker)
//	for _, f := range report.Findings {
//		fmt.Print(f)
//	}
//
// The command "redlock doctor" prints the same. docs/doctor.md lists all findings and their conditions.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/seam"
)

// Report is the result of an examination.
type Report struct {
	// Findings are sorted by severity, the worst first. It is empty if everything is sound.
	Findings []Finding
	Summary  Summary
}

// Summary counts what a report is about.
type Summary struct {
	Masters  int // of the Locker
	Examined int // masters that answered until the end
	// The findings of each severity.
	Dangers, Warnings, Notes int
}

// Finding is one thing that is wrong, may become wrong, or could not be examined, on one or several masters. Why and
// Fix have at most three lines of 80 columns as [Finding.String] prints them; longer texts of servers are cut off.
type Finding struct {
	// ID says what is wrong. Programs may compare it: it does not change when the title does.
	ID       ID
	Severity Severity
	// Node lists Nodes, separated by ", ".
	Node string
	// Nodes has the addresses of the masters. It is empty if the finding concerns this host or the Locker.
	Nodes []string
	// Title says what is wrong. It is one of the titles in docs/doctor.md.
	Title string
	// Why says what was observed, and why that matters for a lock. If the masters differ, it says what was observed on
	// one of them.
	Why string
	// Fix says what to do, usually as a command to type.
	Fix string
	// Commands has the commands in Fix that can be typed as they are: commands of Redis, for each of Nodes, in capitals,
	// and commands of a shell. They may need rights that the user of the Locker lacks. It is empty if there are none.
	Commands []string
}

// Severity says how bad a finding is.
type Severity int

// The severities.
const (
	// Note is a fact to know, or something that could not be examined.
	Note Severity = iota + 1
	// Warning may become a danger, or costs time.
	Warning
	// Danger means that locks may be lost or held twice, or that a master cannot vote.
	Danger
)

// String returns "note", "warning" or "danger".
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Danger:
		return "danger"
	default:
		return fmt.Sprintf("severity %d", int(s))
	}
}

// An Option configures [Examine].
type Option func(*settings)

type settings struct{ span time.Duration }

// fullSpan is the default span. Over a shorter one the round trips blur the speed of a clock.
const fullSpan = 10 * time.Second

// WithSpan sets how long [Examine] observes the masters. Default 10 s. The span must be above 0. Below 10 s the drift
// of clocks is not examined, and a finding says so.
func WithSpan(d time.Duration) Option { return func(s *settings) { s.span = d } }

// Examine examines the masters of a Locker in parallel. It takes the span ([WithSpan]) and about six round trips to the
// most distant master; a master that does not answer takes up to 3 s more, and one that falls silent later about 7 s.
// Examine uses connections of its own, up to three at a time to each master, and does not disturb the Locker; those of
// a wrapped client are of its pool, which must be large enough. On each
// master it acquires and releases locks of all kinds on one scratch name that begins with "redlock:doctor:"; it changes
// nothing else.
//
// A finding lists the commands that a master refused. If fewer than a majority of the masters could be examined,
// Examine returns the report and an error that matches [redlock.ErrNoQuorum]. With any other error the report is empty:
// the error of ctx, [redlock.ErrClosed], or that of an invalid option.
func Examine(ctx context.Context, locker *redlock.Locker, opts ...Option) (Report, error) {
	s := settings{span: fullSpan}
	for _, o := range opts {
		if o == nil {
			return Report{}, errors.New("doctor: a nil Option")
		}
		o(&s)
	}
	if s.span <= 0 {
		return Report{}, fmt.Errorf("doctor: span %v: it must be above 0", s.span)
	}
	d, err := seam.DeploymentOf(locker)
	if err != nil {
		return Report{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-d.Closing:
			cancel(redlock.ErrClosed)
		case <-done:
		}
	}()

	e := examine(ctx, d, s.span)
	select { // the goroutine above may not have run yet
	case <-d.Closing:
		cancel(redlock.ErrClosed)
	default:
	}
	if err := context.Cause(ctx); err != nil {
		return Report{}, err
	}
	return e.report(), e.majority()
}

// exam is everything that an examination observed. The checks only read it.
type exam struct {
	deployment seam.Deployment
	span       time.Duration
	host       host
	masters    []*master
}

func examine(ctx context.Context, d seam.Deployment, span time.Duration) *exam {
	e := &exam{deployment: d, span: span, masters: make([]*master, len(d.Nodes))}
	began := d.Clock.Now()
	var g errgroup.Group
	for i, n := range d.Nodes {
		g.Go(func() error {
			e.masters[i] = observe(ctx, n, d, span)
			return nil
		})
	}
	_ = g.Wait()
	e.host = observeHost(began, d.Clock.Now())
	return e
}

// majority returns an error if fewer than a majority of the masters could be examined.
func (e *exam) majority() error {
	seen := e.examined()
	if seen > len(e.masters)/2 {
		return nil
	}
	return fmt.Errorf("doctor: %d of %d masters could be examined: %w", seen, len(e.masters), redlock.ErrNoQuorum)
}

// examined returns how many masters answered until the end.
func (e *exam) examined() (n int) {
	for _, m := range e.masters {
		if m.failure == nil {
			n++
		}
	}
	return n
}
