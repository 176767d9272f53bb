package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A row is one contestant under one number of callers.
type row struct {
	Callers    int       `json:"callers"`
	Contestant string    `json:"contestant"`
	Masters    int       `json:"masters"`
	Rounds     []figures `json:"rounds"`
	CDF        []point   `json:"cdf,omitempty"` // of one pair, all rounds together
	all        *hdrhistogram.Histogram
}

// figures are what one contestant did in one round.
type figures struct {
	PairMicros float64 `json:"us_per_pair"` // elapsed / pairs: the inverse of the throughput
	P50        float64 `json:"p50_us"`      // of one pair, as its caller sees it
	P99        float64 `json:"p99_us"`
	LockP50    float64 `json:"lock_p50_us"`
	LockP99    float64 `json:"lock_p99_us"`
	ExtendP50  float64 `json:"extend_p50_us,omitempty"`
	ExtendP99  float64 `json:"extend_p99_us,omitempty"`
	UnlockP50  float64 `json:"unlock_p50_us"`
	UnlockP99  float64 `json:"unlock_p99_us"`
	Allocs     float64 `json:"allocs_per_pair"`
	Pairs      int64   `json:"pairs"`
	Failed     int64   `json:"failed"`
	Failure    string  `json:"failure,omitempty"`
}

// values picks one figure of every round.
func (r *row) values(of func(figures) float64) []float64 {
	all := make([]float64, len(r.Rounds))
	for i, f := range r.Rounds {
		all[i] = of(f)
	}
	return all
}

// ours reports whether it is the product that the row is about.
func (r *row) ours() bool {
	return r.Contestant == ours || strings.HasPrefix(r.Contestant, ours+"-") || slices.ContainsFunc(allKinds(), func(c *contestant) bool { return c.Name == r.Contestant })
}

func pairMicros(f figures) float64 { return f.PairMicros }

const (
	latencySlice, latencySmoke = 500 * time.Millisecond, 120 * time.Millisecond
	latencyRamp, smokeRamp     = 150 * time.Millisecond, 50 * time.Millisecond
)

func latencyMasters(s *settings) (n int) {
	for _, c := range latencyContestants(s) {
		n = max(n, c.Masters)
	}
	return n
}

// latencyContestants are those that were asked for; a smoke run leaves out what no ratio is taken from.
func latencyContestants(s *settings) []*contestant {
	only := s.only
	if only == "" && s.smoke {
		only = strings.Join([]string{ours, oursSingle, oursNine, peer, singleMaster, bottom}, ",")
	}
	return among(allContestants(), only)
}

func latencyPart(ctx context.Context, s *session) (err error) {
	contestants := latencyContestants(s.settings)
	plan := latencyPlan{
		part: "latency", rounds: s.rounds, callers: s.callers, rate: s.rate,
		slice: s.sliceOf(latencySlice, latencySmoke), ramp: s.rampOf(latencyRamp, smokeRamp),
	}
	s.progress.stage("latency: %d rounds, about %v; first the masters must be old enough to vote (restart window %v)",
		plan.rounds, plan.estimate(len(contestants)).Round(time.Second), s.ttl)
	contestants, closeAll, err := s.readyAll(ctx, contestants, s.masters.urls, openOptions{ttl: s.ttl, pool: s.pool})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	s.report.Setup.Slice, s.report.Setup.Contestants = plan.slice, contestants
	if err := warmUp(ctx, plan, contestants, s.progress); err != nil {
		return err
	}
	stop, err := profile(s.settings)
	if err != nil {
		return err
	}
	s.report.Latency, err = measureLatency(ctx, plan, contestants, s.progress)
	return errors.Join(err, stop())
}

// latencyPlan is how the latency part is measured.
type latencyPlan struct {
	part    string
	rounds  int
	callers []int
	slice   time.Duration
	ramp    time.Duration
	rate    float64
}

func (p latencyPlan) estimate(contestants int) time.Duration {
	return time.Duration(p.rounds*len(p.callers)*contestants) * (p.slice + p.ramp + 2*quiet)
}

// measureLatency has every contestant run a short slice in turn, round after round, each round in another order: so
// whatever the machine does besides, it does to all of them.
func measureLatency(ctx context.Context, plan latencyPlan, contestants []*contestant, p *progress) ([]*row, error) {
	rows, at := []*row(nil), map[string]*row{}
	key := func(callers int, c *contestant) string { return fmt.Sprint(callers, c.Name) }
	for _, callers := range plan.callers {
		for _, c := range contestants {
			r := &row{Callers: callers, Contestant: c.Name, Masters: c.Masters, all: histogram()}
			rows, at[key(callers, c)] = append(rows, r), r
		}
	}
	for round := range plan.rounds {
		p.stage("%s: round %d of %d", plan.part, round+1, plan.rounds)
		for _, callers := range plan.callers {
			for i := range contestants {
				c := contestants[(i+round)%len(contestants)]
				p.live("%s: round %d of %d, %d callers, %s", plan.part, round+1, plan.rounds, callers, c.Name)
				if err := at[key(callers, c)].measure(ctx, plan, c); err != nil {
					return nil, fmt.Errorf("%s, %d callers: %w", c.Name, callers, err)
				}
			}
		}
	}
	for _, r := range rows {
		r.CDF = cdf(r.all)
	}
	p.clear()
	return rows, nil
}

// measure adds a round.
func (r *row) measure(ctx context.Context, plan latencyPlan, c *contestant) error {
	l := load{callers: r.Callers, rate: plan.rate, ramp: plan.ramp, window: plan.slice, prefix: "bench:" + c.Name}
	s, err := l.run(ctx, c.pairer)
	if err != nil {
		return err
	}
	f, err := s.figures()
	if err != nil { // a machine that stood still for a moment is no reason to give up a long run
		if s, err = l.run(ctx, c.pairer); err != nil {
			return err
		}
		if f, err = s.figures(); err != nil {
			return err
		}
	}
	r.Rounds = append(r.Rounds, f)
	r.all.Merge(s.pair)
	return nil
}

// figures are the sample's, or an error if there is nothing to speak of.
func (s *sample) figures() (figures, error) {
	if s.pairs == 0 || s.pair.TotalCount() == 0 {
		return figures{}, fmt.Errorf("no pair was completed in %v (%d failed: %v)", s.elapsed, s.failed, s.failure)
	}
	f := figures{
		PairMicros: micros(s.elapsed) / float64(s.pairs),
		P50:        at(s.pair, 50),
		P99:        at(s.pair, 99),
		LockP50:    at(s.lock, 50),
		LockP99:    at(s.lock, 99),
		ExtendP50:  at(s.extend, 50),
		ExtendP99:  at(s.extend, 99),
		UnlockP50:  at(s.unlock, 50),
		UnlockP99:  at(s.unlock, 99),
		Allocs:     s.allocs,
		Pairs:      s.pairs,
		Failed:     s.failed,
	}
	if s.failure != nil {
		f.Failure = strings.Join(strings.Fields(s.failure.Error()), " ") // on one line
	}
	return f, nil
}

// at is a percentile in µs; 0 of nothing.
func at(h *hdrhistogram.Histogram, percentile float64) float64 {
	return micros(time.Duration(h.ValueAtPercentile(percentile)))
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

const warmSlice = 500 * time.Millisecond

// warmUp has every contestant open its connections, and everybody's code paths run, before anything is measured.
func warmUp(ctx context.Context, plan latencyPlan, contestants []*contestant, p *progress) error {
	for _, c := range contestants {
		p.live("warming up %s", c.Name)
		l := load{callers: slices.Max(plan.callers), ramp: plan.ramp, window: min(plan.slice, warmSlice), prefix: "warm:" + c.Name}
		if _, err := l.run(ctx, c.pairer); err != nil {
			return fmt.Errorf("warming up %s: %w", c.Name, err)
		}
	}
	p.clear()
	return nil
}
