package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

// A shape is the number of processes, and of goroutines in each, that contend for one name.
type shape struct{ processes, goroutines int }

const (
	contentionTime, contentionSmoke = 8 * time.Second, time.Second
	contentionRamp                  = 300 * time.Millisecond
	// fullSlotsHold is how long each of the 64 callers holds what it acquired. Slots are for work that takes time: if the
	// holders do nothing, the requests to the masters limit a semaphore and a mutex alike.
	fullSlotsHold = 10 * time.Millisecond
)

// A bout is one contestant in one case.
type bout struct {
	in        string
	c         *peers.Contestant
	processes int
	job       job
}

func contentionPart(ctx context.Context, s *session) error {
	var all []bout
	for _, shape := range s.shapes {
		for _, c := range peers.Named(peers.Contended, s.contestants) {
			all = append(all, bout{
				report.Shape(shape.processes, shape.goroutines), c, shape.processes, job{Goroutines: shape.goroutines},
			})
		}
	}
	return s.contendAll(ctx, "contention", all)
}

// slotsPart measures semaphores against mutexes: with a slot for every caller, and with many callers for a few slots.
func slotsPart(ctx context.Context, s *session) error {
	var all []bout
	for _, c := range peers.Named(peers.FreeSlots, s.contestants) {
		all = append(all, bout{report.FreeSlots, c, 4, job{Goroutines: 4, Distinct: c.Name == peers.FreeMutexes}})
	}
	for _, c := range peers.Named(peers.FullSlots, s.contestants) {
		all = append(all, bout{report.FullSlots, c, 4, job{Goroutines: 16, Hold: fullSlotsHold}})
	}
	return s.contendAll(ctx, "slots", all)
}

// contendAll runs all bouts in each round, in another order each time.
func (s *session) contendAll(ctx context.Context, part string, all []bout) error {
	window, rounds := s.sliceOf(contentionTime, contentionSmoke), min(s.rounds, either(s.settings, longRounds, 1))
	all = slices.DeleteFunc(all, func(b bout) bool { return !s.enough(b.c) })
	s.say("%s: %d rounds, about %v", part, rounds,
		(time.Duration(rounds*len(all)) * (window + time.Second)).Round(time.Second))
	for round := range rounds {
		for i := range all {
			b := all[(i+round)%len(all)]
			b.job.URLs, b.job.Ramp, b.job.Window = s.masters.URLs, contentionRamp, window
			if err := s.contend(ctx, part, b.in, b.c, b.processes, b.job); err != nil {
				return fmt.Errorf("%s, %s: %w", b.in, b.c.Name, err)
			}
		}
	}
	return nil
}

// contend runs a job in some processes, and adds one round of its figures.
func (s *session) contend(ctx context.Context, part, in string, c *peers.Contestant, processes int, j job) error {
	j.Contestant, j.TTL, j.Slots = c.Name, s.ttl, c.Slots
	all, err := runWorkers(ctx, j, processes)
	if err != nil {
		return err
	}
	values, acquired, failed, why := valuesOf(all, j.Window)
	s.report.Add(part, in, c.Name, values...)
	s.report.Count(part, in, c.Name, acquired, failed, why)
	return nil
}

// valuesOf merges the results of all workers. overlaps counts how often more goroutines of one process held a name
// together than may.
func valuesOf(all []results, window time.Duration) (values []load.Value, acquired, failed int, why string) {
	var goroutines, processes []int64
	var waits []time.Duration
	var sum, overlaps int64
	for _, h := range all {
		var own int64
		for _, n := range h.Got {
			own += n
		}
		goroutines, processes = append(goroutines, h.Got...), append(processes, own)
		sum, overlaps, failed = sum+own, overlaps+h.Overlaps, failed+h.Failed
		waits = append(waits, h.Waits...)
		if why == "" {
			why = strings.Join(strings.Fields(h.Failure), " ")
		}
	}
	took := load.PercentilesOf(waits) // which sorts them
	ms := func(d time.Duration) float64 { return load.Micros(d) / 1000 }
	byGoroutine, byMean := load.Fairness(goroutines)
	byProcess, _ := load.Fairness(processes)
	return []load.Value{
		{Name: "locks/s", V: float64(sum) / window.Seconds()},
		{Name: "wait p50 ms", V: ms(took.P50)},
		{Name: "wait p99 ms", V: ms(took.P99)},
		{Name: "half of waiting ms", V: ms(load.HalfOfWaiting(waits))},
		{Name: "longest wait ms", V: ms(took.Longest)},
		{Name: "slowest/fastest goroutine", V: byGoroutine},
		{Name: "slowest/fastest process", V: byProcess},
		{Name: "slowest/mean goroutine", V: byMean},
		{Name: "overlaps", V: float64(overlaps)},
	}, int(sum), failed, why
}
