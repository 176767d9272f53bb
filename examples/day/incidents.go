package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/doctor"
)

const (
	patience = 3 * time.Minute
	few      = 2 // votes that may fail without an incident
)

// incident is something that breaks on one master.
type incident struct {
	what string
	// start injects it. heal ends it, and is nil if that is not necessary.
	start   func(ctx context.Context, d *day, m *master) (heal func(context.Context) error, err error)
	during  time.Duration // how long an examination is under way when it happens; 0: it begins afterwards
	reports map[string]string
}

// The sources that may report an incident.
const (
	byDoctor = "doctor"
	byLog    = "log"
	byMetric = "metric"
	byAlert  = "alert"
)

var sources = []string{byDoctor, byLog, byMetric, byAlert}

// incidents are those of a day. reports has the sources that must report each, with a part of the text.
var incidents = []incident{
	{
		what: "eviction policy",
		start: func(ctx context.Context, _ *day, m *master) (func(context.Context) error, error) {
			return func(ctx context.Context) error {
					return m.do(ctx, "CONFIG SET maxmemory-policy noeviction maxmemory 0")
				},
				m.do(ctx, "CONFIG SET maxmemory-policy volatile-lru maxmemory 100mb")
		},
		reports: map[string]string{byDoctor: "evicts locks"},
	},
	{
		what: "replica",
		start: func(ctx context.Context, d *day, m *master) (func(context.Context) error, error) {
			replica, err := m.replicate(ctx, d.lib)
			return func(context.Context) error { return replica.stop() }, err
		},
		reports: map[string]string{byDoctor: "has replicas"},
	},
	{
		what: "frozen master",
		start: func(_ context.Context, _ *day, m *master) (func(context.Context) error, error) {
			return func(context.Context) error { return m.Thaw() }, m.Freeze()
		},
		reports: map[string]string{
			byDoctor: "does not answer", byLog: "a master does not answer", byMetric: "suspect", byAlert: "RedlockMasterDown",
		},
	},
	{
		what: "clock step of +1 min",
		start: func(_ context.Context, _ *day, m *master) (func(context.Context) error, error) {
			return nil, m.clock.Jump(time.Minute)
		},
		during:  4 * time.Second,
		reports: map[string]string{byDoctor: "the clock stepped"},
	},
	{
		what: "expired certificate",
		start: func(ctx context.Context, _ *day, m *master) (func(context.Context) error, error) {
			heal := func(ctx context.Context) error { return m.serve(ctx, m.pki.Valid()) }
			if err := m.serve(ctx, m.pki.Certificate("127.0.0.1", time.Now().Add(-time.Hour))); err != nil {
				return heal, err
			}
			return heal, m.do(ctx, "CLIENT KILL USER redlock") // open connections stay; this one ends, as one does some time
		},
		reports: map[string]string{
			byDoctor: "does not answer", byLog: "certificate has expired", byMetric: "suspect", byAlert: "RedlockMasterDown",
		},
	},
	{
		what: "full disk under the AOF",
		start: func(ctx context.Context, d *day, m *master) (func(context.Context) error, error) {
			lock, err := d.program.locker.Lock(ctx, "orders:43")
			if err != nil {
				return nil, err
			}
			return nil, errors.Join(m.fillDisk(ctx), lock.Unlock(ctx)) // the master refuses the release
		},
		reports: map[string]string{
			byDoctor: "cannot write its AOF", byLog: "No space left on device", byMetric: "failed",
			byAlert: "RedlockMasterRefuses",
		},
	},
}

// report is what a source reported about an incident, and how long after it.
type report struct {
	what  string
	after time.Duration
}

// account has what reported an incident.
type account struct {
	what    string
	reports map[string]report
	looked  time.Duration
}

func (a account) String() string {
	text := fmt.Sprintf("%s (looked for %v)\n", a.what, a.looked.Round(time.Second))
	for _, by := range sources {
		if t, ok := a.reports[by]; ok {
			text += fmt.Sprintf("  %-7s %5.1f s  %s\n", by, t.after.Seconds(), t.what)
		} else {
			text += fmt.Sprintf("  %-7s nothing\n", by)
		}
	}
	return text
}

// play starts the incident on the master, waits until every source that must report it has done so, and for as long as
// look, and heals it.
func (d *day) play(
	ctx context.Context, in incident, m *master, before doctor.Report, look time.Duration,
) (account, error) {
	watching, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer func() { stop(); all.Wait() }()
	w := &watch{day: d, incident: in, master: m, before: before, reports: map[string]report{}}
	failed, err := w.failedVotes(ctx)
	if err != nil {
		return account{}, err
	}
	w.failed, w.since = failed, time.Now().Add(in.during)
	if in.during > 0 {
		all.Go(func() { w.examine(watching) })
		time.Sleep(in.during)
	}
	heal, err := in.start(ctx, d, m)
	if err != nil {
		return account{}, err
	}
	if in.during == 0 {
		all.Go(func() { w.examine(watching) })
	}
	all.Go(func() { w.watch(watching) })
	w.wait(ctx, look)
	stop()
	all.Wait()
	a := account{what: in.what, reports: w.reports, looked: time.Since(w.since)}
	if missing := w.missing(); len(missing) > 0 {
		return a, fmt.Errorf("it is not reported by %v\n%v", missing, a)
	}
	if heal == nil {
		return a, nil
	}
	if err := heal(ctx); err != nil {
		return a, err
	}
	return a, d.quiet(ctx, m)
}

// watch collects the reports about an incident.
type watch struct {
	day      *day
	incident incident
	master   *master
	before   doctor.Report
	failed   float64   // votes, before
	since    time.Time // when the incident happened

	mu      sync.Mutex
	reports map[string]report
}

// failedVotes returns how many votes of the master failed, as Prometheus has seen them.
func (w *watch) failedVotes(ctx context.Context) (n float64, err error) {
	query := fmt.Sprintf(`sum(redlock_node_votes_total{node=%q,verdict="failed"})`, w.master.name())
	found, err := w.day.monitor.query(ctx, query)
	if err == nil && len(found) == 1 {
		n = found[0].value()
	}
	return n, err
}

// note records a report. Of several texts it keeps the first, unless a later one is the expected one.
func (w *watch) note(by, what string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old, has := w.reports[by]
	must := w.incident.reports[by]
	if has && (must == "" || strings.Contains(old.what, must)) {
		return
	}
	if !has || strings.Contains(what, must) {
		w.reports[by] = report{what, at.Sub(w.since)}
	}
}

func (w *watch) missing() (by []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, source := range sources {
		must, expected := w.incident.reports[source]
		if expected && !strings.Contains(w.reports[source].what, must) {
			by = append(by, source)
		}
	}
	return by
}

// wait waits for all sources that must report, and for as long as look, unless ctx ends.
func (w *watch) wait(ctx context.Context, look time.Duration) {
	for ctx.Err() == nil {
		passed := time.Since(w.since)
		if passed > patience || passed >= look && len(w.missing()) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// examine examines the masters again and again until ctx ends. It notes the findings about the master that it did not
// have before.
func (w *watch) examine(ctx context.Context) {
	for ctx.Err() == nil {
		found, err := w.day.doctor(ctx)
		if err != nil && !errors.Is(err, context.Canceled) {
			w.note(byDoctor, err.Error(), time.Now())
		}
		var titles []string
		for _, f := range found.Findings {
			if !slices.Contains(f.Nodes, w.master.name()) || f.Title == "was configured at run time" {
				continue
			}
			if !has(w.before, w.master.name(), f.Title) {
				titles = append(titles, f.Severity.String()+": "+f.Title)
			}
		}
		if len(titles) > 0 {
			w.note(byDoctor, strings.Join(titles, ", "), time.Now())
		}
	}
}

func has(r doctor.Report, node, title string) bool {
	return slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
		return slices.Contains(f.Nodes, node) && f.Title == title
	})
}

// watch notes what log, metrics and alerts report about the master, until ctx ends.
func (w *watch) watch(ctx context.Context) {
	stateQuery := fmt.Sprintf(`redlock_node_state{node=%q,state!="voting"} == 1`, w.master.name())
	for ctx.Err() == nil {
		if l, ok := w.day.program.log.about(w.master.name(), w.since); ok {
			w.note(byLog, strings.TrimSpace(l.text), l.at)
		}
		states, err := w.day.monitor.query(ctx, stateQuery)
		if err == nil && len(states) > 0 {
			w.note(byMetric, "redlock_node_state "+states[0].Metric["state"], time.Now())
		}
		if n, err := w.failedVotes(ctx); err == nil && n > w.failed+few {
			w.note(byMetric, "redlock_node_votes_total failed", time.Now())
		}
		if firing, err := w.day.monitor.firing(ctx, w.master.name()); err == nil && len(firing) > 0 {
			w.note(byAlert, strings.Join(firing, ", "), time.Now())
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
