// Package doctor examines the masters of a Locker, this host, and the Locker's settings, and reports what endangers a
// lock: eviction, replicas, masters that fail together, clocks, persistence, pauses, connections, missing rights, other
// users of the masters, and settings that do not fit them.
//
//	report, err := doctor.Examine(ctx, locker)
//	for _, f := range report.Findings {
//		fmt.Println(f.Severity, f.Node, f.Title, f.Why, f.Fix)
//	}
//
// The command "redlock doctor" prints the same. docs/doctor.md lists all findings and their conditions.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/seam"
)

// Report is the result of an examination.
type Report struct {
	// Findings are sorted by severity, the worst first. It is empty if everything is sound.
	Findings []Finding `json:"findings"`
}

// Finding is one thing that is wrong, may become wrong, or could not be examined.
type Finding struct {
	Severity Severity `json:"severity"`
	// Node is the address of the master. It lists several, separated by ", ", if the finding concerns them together. It
	// is "" if the finding concerns this host or the Locker.
	Node string `json:"node,omitempty"`
	// Title says what is wrong. It is one of the titles in docs/doctor.md.
	Title string `json:"title"`
	// Why says what was observed, and why that matters for a lock.
	Why string `json:"why"`
	// Fix says what to do, usually as a command to type.
	Fix string `json:"fix"`
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

// MarshalText returns the severity's name, for JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// An Option configures [Examine].
type Option func(*settings)

type settings struct{ span time.Duration }

// fullSpan is the default span. Over a shorter one the round trips blur the speed of a clock.
const fullSpan = 10 * time.Second

// WithSpan sets how long [Examine] observes the clocks and round trips of the masters, which is most of the time that
// it takes. Default 10 s. The span must be above 0. Below 10 s the drift of clocks is not examined, and a finding says
// so.
func WithSpan(d time.Duration) Option { return func(s *settings) { s.span = d } }

// Examine examines the masters of a Locker in parallel, for about 10 seconds ([WithSpan]). It uses connections of its
// own, and does not disturb the Locker. On each master it acquires and releases locks of all kinds on one scratch name
// that begins with "redlock:doctor:"; it changes nothing else.
//
// A finding lists the commands that a master refused. If fewer than a majority of the masters could be examined,
// Examine returns the report and an error that matches [redlock.ErrNoQuorum]. With any other error the report is empty:
// the error of ctx, [redlock.ErrClosed], or that of an invalid option.
func Examine(ctx context.Context, locker *redlock.Locker, opts ...Option) (Report, error) {
	s := settings{span: fullSpan}
	for _, o := range opts {
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
	seen := 0
	for _, m := range e.masters {
		if m.failure == nil {
			seen++
		}
	}
	if seen > len(e.masters)/2 {
		return nil
	}
	return fmt.Errorf("doctor: %d of %d masters could be examined: %w", seen, len(e.masters), redlock.ErrNoQuorum)
}

// report applies all rules.
func (e *exam) report() Report {
	report := Report{Findings: []Finding{}}
	for _, r := range rules() {
		for _, h := range r.check(e) {
			report.Findings = append(report.Findings, Finding{
				Severity: r.severity, Node: h.node, Title: r.title, Why: h.observed + ". " + r.why, Fix: cmp.Or(h.fix, r.fix),
			})
		}
	}
	slices.SortStableFunc(report.Findings, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) })
	return report
}
