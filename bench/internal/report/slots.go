package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

// The shapes of the slots part: 16 callers with a slot for each, and 64 callers for 8 slots.
var (
	FreeSlots = Shape{4, 4}
	FullSlots = Shape{4, 16}
)

// FullSlotsHold is how long each of the 64 callers holds what it acquired. Slots are for work that takes time: if the
// holders do nothing, the requests to the masters limit a semaphore and a mutex alike.
const FullSlotsHold = 10 * time.Millisecond

// slotRatio divides the throughput of a by that of b in one shape of the slots part, round by round.
func slotRatio(s Shape, a, b string) func(*Report) (spread, bool) {
	return func(r *Report) (spread, bool) {
		return throughputOf(contentionOf(r.Slots, s, a), contentionOf(r.Slots, s, b))
	}
}

// leastShare is the smallest number of permits of a caller, divided by the mean of all callers.
func leastShare(r *Report) (spread, bool) {
	row := contentionOf(r.Slots, FullSlots, peers.FewPermits)
	if row == nil {
		return spread{}, false
	}
	return spreadOf(row.values(leastByMean)), true
}

func leastByMean(r ContentionRound) float64 { return r.Least }

// excess counts how often a process saw more holders of a name than the name has slots.
func excess(r *Report) (spread, bool) {
	var n float64
	for _, row := range r.Slots {
		for _, round := range row.Rounds {
			n += float64(round.Overlaps)
		}
	}
	return single(n), len(r.Slots) > 0
}

func (r *Report) slotSections() (all []section) {
	for _, shape := range []Shape{FreeSlots, FullSlots} {
		base, title := peers.FreeMutexes, "a slot for every caller"
		if shape == FullSlots {
			base, title = peers.RedlockNoHandOver, fmt.Sprintf("8 slots for 64 callers that hold them for %v", FullSlotsHold)
		}
		rows := slices.DeleteFunc(slices.Clone(r.Slots), func(row *ContentionRow) bool {
			return row.Shape != shape || len(row.Rounds) == 0
		})
		if len(rows) == 0 {
			continue
		}
		s := section{part: "slots", title: fmt.Sprintf("semaphores, %s, processes × goroutines %v: %s",
			title, shape, over(len(rows[0].Rounds)))}
		s.table = table{
			{"contestant", "locks/s", "× the mutex", "wait p50 ms", "p99 ms", "longest ms", "slowest caller/mean"},
		}
		for _, row := range rows {
			wait := func(of func(load.Waits) float64) string {
				return spreadOf(row.values(func(r ContentionRound) float64 { return of(r.Waits) / 1000 })).brief()
			}
			ratio := "–"
			if got, ok := throughputOf(row, contentionOf(rows, shape, base)); ok && row.Contestant != base {
				ratio = got.format(2)
			}
			s.table = append(s.table, []string{
				row.Contestant, spreadOf(row.values(perSecond)).brief(), ratio,
				wait(func(w load.Waits) float64 { return w.P50 }), wait(func(w load.Waits) float64 { return w.P99 }),
				wait(func(w load.Waits) float64 { return w.Longest }), spreadOf(row.values(leastByMean)).brief(),
			})
			for _, round := range row.Rounds {
				if round.Failed > 0 {
					s.notes = append(s.notes,
						fmt.Sprintf("%s: %d failed, the last with: %s", row.Contestant, round.Failed, round.Failure))
				}
			}
		}
		s.notes = append(s.notes, "× the mutex is throughput against "+base+" in the same round")
		all = append(all, s)
	}
	if len(all) > 0 {
		last := &all[len(all)-1]
		last.notes = append(last.notes,
			"peers: no other Go library has a semaphore over a quorum of masters; "+
				"redis_rate and asynq's unique jobs limit rates and duplicates")
	}
	return all
}
