package suite

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/bench/internal/peers"
)

const kindSlice, kindSmoke = 300 * time.Millisecond, 60 * time.Millisecond

// kindsPart measures the kinds of locks in the same way as the latency part measures the contestants.
func kindsPart(ctx context.Context, s *session) (err error) {
	plan := latencyPlan{
		part: "kinds", rounds: s.rounds, callers: []int{1, 64},
		slice: s.sliceOf(kindSlice, kindSmoke), ramp: s.rampOf(latencyRamp, smokeRamp),
	}
	kinds := peers.Filter(peers.Kinds(), s.kindsOnly())
	s.progress.stage("kinds: %d rounds, about %v", plan.rounds, plan.estimate(len(kinds)).Round(time.Second))
	kinds, closeAll, err := s.readyAll(ctx, kinds, s.masters.URLs, peers.Options{TTL: s.ttl})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if err := warmUp(ctx, plan, kinds, s.progress); err != nil {
		return err
	}
	s.report.Kinds, err = measureLatency(ctx, plan, kinds, s.progress)
	return err
}

// kindsOnly returns the list of contestants if it names kinds. It always includes the plain mutex, for comparison.
func (s *settings) kindsOnly() string {
	if picked := peers.Filter(peers.Kinds(), s.contestants); s.contestants == "" || len(picked) == 0 {
		return ""
	}
	return peers.Mutex + "," + s.contestants
}
