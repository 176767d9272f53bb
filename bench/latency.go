package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A row is one contestant under one number of callers.
type row struct {
	Callers    int       `json:"callers"`
	Contestant string    `json:"contestant"`
	Masters    int       `json:"masters"`
	Rounds     []figures `json:"rounds"`
}

// figures are what one contestant did in one round.
type figures struct {
	PairMicros float64 `json:"us_per_pair"` // elapsed / pairs: the inverse of the throughput
	P50        float64 `json:"p50_us"`      // of one pair, as its caller sees it
	P99        float64 `json:"p99_us"`
	LockP99    float64 `json:"lock_p99_us"`
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

func pairMicros(f figures) float64 { return f.PairMicros }

// latencyPlan is how the latency part is measured.
type latencyPlan struct {
	rounds  int
	callers []int
	slice   time.Duration
	ramp    time.Duration
}

func (p latencyPlan) estimate(contestants int) time.Duration {
	return time.Duration(p.rounds*len(p.callers)*contestants) * (p.slice + p.ramp + 2*quiet)
}

// measureLatency has every contestant run a short slice in turn, round after round, each round in another order: so
// whatever the machine does besides, it does to all of them.
func measureLatency(ctx context.Context, plan latencyPlan, contestants []*contestant, p *progress) ([]*row, error) {
	var rows []*row
	at := map[string]*row{}
	key := func(callers int, c *contestant) string { return fmt.Sprint(callers, c.Name) }
	for _, callers := range plan.callers {
		for _, c := range contestants {
			r := &row{Callers: callers, Contestant: c.Name, Masters: c.Masters}
			rows, at[key(callers, c)] = append(rows, r), r
		}
	}
	for round := range plan.rounds {
		p.stage("latency: round %d of %d", round+1, plan.rounds)
		for _, callers := range plan.callers {
			for i := range contestants {
				c := contestants[(i+round)%len(contestants)]
				p.live("latency: round %d of %d, %d callers, %s", round+1, plan.rounds, callers, c.Name)
				f, err := slice(ctx, plan, callers, c)
				if err != nil {
					return nil, fmt.Errorf("%s, %d callers: %w", c.Name, callers, err)
				}
				r := at[key(callers, c)]
				r.Rounds = append(r.Rounds, f)
			}
		}
	}
	p.clear()
	return rows, nil
}

func slice(ctx context.Context, plan latencyPlan, callers int, c *contestant) (figures, error) {
	l := load{callers: callers, ramp: plan.ramp, window: plan.slice, prefix: "bench:" + c.Name}
	s, err := l.run(ctx, c)
	if err != nil {
		return figures{}, err
	}
	return s.figures()
}

// figures are the sample's, or an error if there is nothing to speak of.
func (s *sample) figures() (figures, error) {
	if s.pairs == 0 || s.pair.TotalCount() == 0 {
		return figures{}, fmt.Errorf("no pair was completed in %v (%d failed: %v)", s.elapsed, s.failed, s.failure)
	}
	f := figures{
		PairMicros: micros(s.elapsed) / float64(s.pairs),
		P50:        micros(time.Duration(s.pair.ValueAtPercentile(50))),
		P99:        micros(time.Duration(s.pair.ValueAtPercentile(99))),
		LockP99:    micros(time.Duration(s.lock.ValueAtPercentile(99))),
		UnlockP99:  micros(time.Duration(s.unlock.ValueAtPercentile(99))),
		Allocs:     s.allocs,
		Pairs:      s.pairs,
		Failed:     s.failed,
	}
	if s.failure != nil {
		f.Failure = strings.Join(strings.Fields(s.failure.Error()), " ") // on one line
	}
	return f, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

const warmSlice = 500 * time.Millisecond

// warmUp has every contestant open its connections, and everybody's code paths run, before anything is measured.
func warmUp(ctx context.Context, plan latencyPlan, contestants []*contestant, p *progress) error {
	for _, c := range contestants {
		p.live("warming up %s", c.Name)
		l := load{callers: slices.Max(plan.callers), ramp: plan.ramp, window: min(plan.slice, warmSlice), prefix: "warm:" + c.Name}
		if _, err := l.run(ctx, c); err != nil {
			return fmt.Errorf("warming up %s: %w", c.Name, err)
		}
	}
	p.clear()
	return nil
}
