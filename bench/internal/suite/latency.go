package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

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

// latencyContestants returns the requested contestants. A smoke run omits those that no ratio needs.
func latencyContestants(s *settings) []*peers.Contestant {
	only := s.contestants
	if only == "" && s.smoke {
		only = strings.Join(
			[]string{peers.Redlock, peers.RedlockSingle, peers.RedlockNine, peers.Redsync, peers.Redislock, peers.LowerBound},
			",",
		)
	}
	return peers.Filter(peers.All(), only)
}

func latencyPart(ctx context.Context, s *session) (err error) {
	contestants := latencyContestants(s.settings)
	plan := latencyPlan{
		part: "latency", rounds: s.rounds, callers: s.callers, rate: s.rate,
		slice: s.sliceOf(latencySlice, latencySmoke), ramp: s.rampOf(latencyRamp, smokeRamp),
	}
	s.progress.stage("latency: %d rounds, about %v; first the masters must be old enough to vote (restart window %v)",
		plan.rounds, plan.estimate(len(contestants)).Round(time.Second), s.ttl)
	contestants, closeAll, err := s.readyAll(ctx, contestants, s.masters.URLs, peers.Options{TTL: s.ttl, Pool: s.pool})
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

// latencyPlan says how to measure the latency.
type latencyPlan struct {
	part    string
	rounds  int
	callers []int
	slice   time.Duration
	ramp    time.Duration
	rate    float64
}

func (p latencyPlan) estimate(contestants int) time.Duration {
	return time.Duration(p.rounds*len(p.callers)*contestants) * (p.slice + p.ramp + 2*load.SettleTime)
}

// measureLatency runs every contestant for a short slice in each round. The order differs from round to round, so that
// other load on the machine affects all contestants alike.
func measureLatency(
	ctx context.Context,
	plan latencyPlan,
	contestants []*peers.Contestant,
	p *progress,
) ([]*report.Row, error) {
	measured, at := []*measuredRow(nil), map[string]*measuredRow{}
	key := func(callers int, c *peers.Contestant) string { return fmt.Sprint(callers, c.Name) }
	for _, callers := range plan.callers {
		for _, c := range contestants {
			r := &measuredRow{
				row:   &report.Row{Callers: callers, Contestant: c.Name, Masters: c.Masters},
				pairs: load.NewHistogram(),
			}
			measured, at[key(callers, c)] = append(measured, r), r
		}
	}
	for round := range plan.rounds {
		p.stage("%s: round %d of %d", plan.part, round+1, plan.rounds)
		for _, callers := range plan.callers {
			for i := range contestants {
				c := contestants[(i+round)%len(contestants)]
				p.live("%s: round %d of %d, %d callers, %s", plan.part, round+1, plan.rounds, callers, c.Name)
				if err := at[key(callers, c)].addRound(ctx, plan, c); err != nil {
					return nil, fmt.Errorf("%s, %d callers: %w", c.Name, callers, err)
				}
			}
		}
	}
	var rows []*report.Row
	for _, r := range measured {
		r.row.CDF = load.Distribution(r.pairs)
		rows = append(rows, r.row)
	}
	p.clear()
	return rows, nil
}

// A measuredRow is a row of the report together with the measurements of its rounds so far.
type measuredRow struct {
	row   *report.Row
	pairs *hdrhistogram.Histogram // pair durations in all rounds
}

// addRound measures a round. It repeats the round once if no pair was completed, because a short stall of the machine
// should not end a long run.
func (r *measuredRow) addRound(ctx context.Context, plan latencyPlan, c *peers.Contestant) error {
	l := load.Load{Callers: r.row.Callers, Rate: plan.rate, Ramp: plan.ramp, Window: plan.slice, Prefix: "bench:" + c.Name}
	s, err := l.Run(ctx, c.Pairer)
	if err != nil {
		return err
	}
	f, err := s.Figures()
	if err != nil {
		if s, err = l.Run(ctx, c.Pairer); err != nil {
			return err
		}
		if f, err = s.Figures(); err != nil {
			return err
		}
	}
	r.row.Rounds = append(r.row.Rounds, f)
	r.pairs.Merge(s.Pair)
	return nil
}

const warmSlice = 500 * time.Millisecond

// warmUp runs every contestant for a short time before the measurement, so that its connections are open and all code
// has run.
func warmUp(ctx context.Context, plan latencyPlan, contestants []*peers.Contestant, p *progress) error {
	for _, c := range contestants {
		p.live("warming up %s", c.Name)
		l := load.Load{
			Callers: slices.Max(plan.callers),
			Ramp:    plan.ramp,
			Window:  min(plan.slice, warmSlice),
			Prefix:  "warm:" + c.Name,
		}
		if _, err := l.Run(ctx, c.Pairer); err != nil {
			return fmt.Errorf("warming up %s: %w", c.Name, err)
		}
	}
	p.clear()
	return nil
}
