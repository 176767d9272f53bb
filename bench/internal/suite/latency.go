package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

const (
	latencyRamp, smokeRamp = 150 * time.Millisecond, 50 * time.Millisecond
	warmSlice              = 500 * time.Millisecond
)

// latencyContestants returns the requested contestants. A smoke run omits those that no ratio needs.
func latencyContestants(s *settings) []*peers.Contestant {
	only := s.contestants
	if only == "" && s.smoke {
		only = strings.Join(
			[]string{peers.Redlock, peers.RedlockSingle, peers.RedlockNine, peers.Redsync, peers.Redislock}, ",",
		)
	}
	return peers.Named(peers.Latency, only)
}

func latencyPart(ctx context.Context, s *session) error {
	return s.measureLoad(ctx, latencyContestants(s.settings), s.masters.URLs, loadPlan{
		part: "latency", rounds: s.rounds, callers: s.callers, ramp: either(s.settings, latencyRamp, smokeRamp),
		slice: s.sliceOf(500*time.Millisecond, 120*time.Millisecond),
	})
}

// kindsPart measures the kinds of locks in the same way as the latency part measures the contestants. It always
// includes the plain mutex, for comparison.
func kindsPart(ctx context.Context, s *session) error {
	only := s.contestants
	if only != "" {
		only += "," + peers.Mutex
	}
	return s.measureLoad(ctx, peers.Named(peers.Kinds, only), s.masters.URLs, loadPlan{
		part: "kinds", rounds: s.rounds, callers: []int{1, 64}, ramp: either(s.settings, latencyRamp, smokeRamp),
		slice: s.sliceOf(300*time.Millisecond, 60*time.Millisecond),
	})
}

// loadPlan says how to measure what pairs take.
type loadPlan struct {
	part        string
	prefix      string // of the case
	rounds      int
	callers     []int
	slice, ramp time.Duration
	extend      bool
	unit        time.Duration // of latencies: multiples of this; 0: µs
}

func (p loadPlan) load(callers int, window time.Duration, prefix string) load.Load {
	return load.Load{Callers: callers, Ramp: p.ramp, Window: window, Prefix: prefix, Extend: p.extend}
}

// measureLoad runs every contestant for a short slice in each round. The order differs from round to round, so that
// other load on the machine affects all contestants alike. Before, each runs for a short time, so that its connections
// are open and all code has run.
func (s *session) measureLoad(
	ctx context.Context, all []*peers.Contestant, urls []string, plan loadPlan,
) (err error) {
	s.say("%s: %s%d rounds, about %v; first the masters must be old enough to vote (restart window %v)",
		plan.part, plan.prefix, plan.rounds, (time.Duration(plan.rounds*len(plan.callers)*len(all)) *
			(plan.slice + plan.ramp)).Round(time.Second), s.ttl)
	all, closeAll, err := s.openAll(ctx, all, urls, peers.Options{TTL: s.ttl, Pool: slices.Max(plan.callers)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	for _, c := range all {
		warm := plan.load(slices.Max(plan.callers), min(plan.slice, warmSlice), "warm:"+c.Name)
		if _, err := warm.Run(ctx, c); err != nil {
			return fmt.Errorf("warming up %s: %w", c.Name, err)
		}
		if plan.part == "latency" {
			s.report.Note("%s: %s", peers.Label(c.Name), c.Setup)
		}
	}
	for round := range plan.rounds {
		s.say("%s: %sround %d of %d", plan.part, plan.prefix, round+1, plan.rounds)
		for _, callers := range plan.callers {
			for i := range all {
				c := all[(i+round)%len(all)]
				if err := s.addRound(ctx, plan, callers, c); err != nil {
					return fmt.Errorf("%s, %s: %w", c.Name, report.Callers(callers), err)
				}
			}
		}
	}
	return nil
}

// addRound measures a round. It repeats the round once if no pair was completed, because a short stall of the machine
// should not end a long run.
func (s *session) addRound(ctx context.Context, plan loadPlan, callers int, c *peers.Contestant) error {
	l := plan.load(callers, plan.slice, "bench:"+c.Name)
	var err error
	for range 2 {
		sample, failed := l.Run(ctx, c)
		if failed != nil {
			return failed
		}
		values, pairs, missed, none := sample.Values()
		if err = none; err != nil {
			continue
		}
		for i := range values {
			if plan.unit > 0 && strings.Contains(values[i].Name, " p") { // of one step
				values[i].V /= load.Micros(plan.unit)
			}
		}
		in := plan.prefix + report.Callers(callers)
		s.report.Add(plan.part, in, c.Name, values...)
		s.report.Count(plan.part, in, c.Name, pairs, missed, sample.Reason())
		return nil
	}
	return err
}
