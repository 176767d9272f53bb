package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

// slotsPart measures semaphores against mutexes: with a slot for every caller, and with many callers for a few slots.
func slotsPart(ctx context.Context, s *session) error {
	window, rounds := s.sliceOf(contentionTime, contentionSmoke), min(s.rounds, s.roundsFor(contentionRounds))
	var rows []*report.ContentionRow
	var jobs []job
	for _, shape := range []report.Shape{report.FreeSlots, report.FullSlots} {
		hold := time.Duration(0)
		if shape == report.FullSlots {
			hold = report.FullSlotsHold
		}
		for _, c := range peers.Filter(peers.SlotContestants(shape == report.FullSlots), s.contestants) {
			if c.Masters > len(s.masters.URLs) {
				s.progress.stage("%s is left out: it wants %d masters, and there are %d", c.Name, c.Masters, len(s.masters.URLs))
				continue
			}
			rows = append(rows, &report.ContentionRow{Shape: shape, Contestant: c.Name, Masters: c.Masters})
			jobs = append(jobs, job{
				Contestant: c.Name, URLs: s.masters.URLs, TTL: s.ttl, Goroutines: shape.Goroutines,
				Ramp: contentionRamp, Window: window, Hold: hold,
				Distinct: c.Name == peers.FreeMutexes, Slots: slotsOf(c.Name),
			})
		}
	}
	s.progress.stage("slots: %d rounds, about %v", rounds,
		(time.Duration(rounds*len(jobs)) * (window + time.Second)).Round(time.Second))
	for round := range rounds {
		for i := range jobs {
			at := (i + round) % len(jobs)
			s.progress.live("slots: %v, %s", rows[at].Shape, rows[at].Contestant)
			if err := addContentionRound(ctx, rows[at], jobs[at]); err != nil {
				return fmt.Errorf("%v, %s: %w", rows[at].Shape, rows[at].Contestant, err)
			}
		}
	}
	s.progress.clear()
	s.report.Slots = rows
	return nil
}

// slotsOf returns how many goroutines may hold one name of a contestant at the same time.
func slotsOf(contestant string) int {
	switch contestant {
	case peers.FreePermits, peers.FreePermitsFenced:
		return peers.ManySlots
	case peers.FewPermits:
		return peers.FewSlots
	default:
		return 1
	}
}
