package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlock-go/redlock/chaos/internal/repeat"
)

// Summary adds up the results of many schedules.
type Summary struct {
	Schedules int
	Found     []Finding
	// Hashes has a line for each schedule that was played exactly, with its seed, its order and [Result.Hash].
	Hashes string
	// Holds is the number of locks held, and Commands the number of commands that the masters executed.
	Holds, Commands int64
	// Virtual is the duration in the bubbles' time, summed over all schedules. Wall is the real duration.
	Virtual, Wall time.Duration
	// ByChecker has a line for each schedule in which a checker found something, also if it is excused.
	ByChecker map[string][]string
}

// Play plays a schedule in an order.
type Play func(s Schedule, order uint64) *Result

// Batch is a set of schedules with consecutive seeds.
type Batch struct {
	// From is the first seed and N the number of schedules. Draw makes the schedule of a seed.
	From uint64
	N    int
	Draw func(seed uint64) Schedule
	// Play plays each schedule, in Order and the orders that follow, Orders in all; 0 means one.
	Play   Play
	Order  uint64
	Orders int
	// Replay returns the command that plays a seed again in an order. It may be nil.
	Replay func(seed, order uint64) string
	// Excused reports whether the findings of a checker are only counted. It may be nil.
	Excused func(string) bool
	// Say receives a progress message from time to time.
	Say func(format string, args ...any)
}

// Run plays the schedules, as many at a time as there are processors, then shrinks the first findings. If
// ctx ends, Run returns an error and the summary of the schedules that were played.
func (b Batch) Run(ctx context.Context) (Summary, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // most allocations live only as long as their schedule
	logging.Disable()
	b.Orders = max(b.Orders, 1)
	start := time.Now()
	sum := Summary{ByChecker: make(map[string][]string)}
	hashes := make([]string, b.N*b.Orders)
	var mu sync.Mutex
	lastSaid := start
	_ = repeat.AtMost(runtime.GOMAXPROCS(0), len(hashes), func(i int) error {
		if ctx.Err() != nil {
			return nil
		}
		order := b.Order + uint64(i%b.Orders)
		r := b.Play(b.Draw(b.From+uint64(i/b.Orders)), order)
		mu.Lock()
		defer mu.Unlock()
		before := len(sum.Found)
		sum.add(r, order, b.Excused)
		hashes[i] = fmt.Sprintf("%d %d %s\n", r.Schedule.Seed, order, r.Hash)
		if n := len(sum.Found); n > before && n <= enough {
			b.Say("seed %d: found by %s", r.Schedule.Seed, strings.Join(r.By(), ", "))
		}
		if now := time.Now(); now.Sub(lastSaid) > 5*time.Second {
			lastSaid = now
			b.Say("%d of %d schedules after %v, %d with a violation",
				sum.Schedules, len(hashes), now.Sub(start).Round(time.Second), len(sum.Found))
		}
		return nil
	})
	slices.SortFunc(sum.Found, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Seed, y.Seed), cmp.Compare(x.Order, y.Order))
	})
	b.shrink(ctx, sum.Found)
	sum.Hashes = strings.Join(hashes, "")
	sum.Wall = time.Since(start)
	if err := ctx.Err(); err != nil {
		return sum, fmt.Errorf("%d of %d schedules were run: %w", sum.Schedules, len(hashes), err)
	}
	if sum.Schedules > 0 && sum.Holds < 5*int64(sum.Schedules) {
		return sum, errors.New("hardly anybody got a lock: these schedules show nothing")
	}
	return sum, nil
}

func (s *Summary) add(r *Result, order uint64, excused func(string) bool) {
	s.Schedules++
	s.Holds += int64(r.Holds)
	s.Commands += int64(r.Commands)
	s.Virtual += r.Took
	for i, f := range r.Found {
		if !slices.ContainsFunc(r.Found[:i], func(o Found) bool { return o.By == f.By }) {
			s.ByChecker[f.By] = append(s.ByChecker[f.By], fmt.Sprintf("seed %d: %v", r.Schedule.Seed, f))
		}
	}
	by := slices.DeleteFunc(r.By(), func(c string) bool { return excused != nil && excused(c) })
	if len(by) > 0 {
		s.Found = append(s.Found, Finding{Seed: r.Schedule.Seed, Order: order, By: by, Report: r.Report()})
	}
}

// Finding is a schedule in which a checker found something.
type Finding struct {
	// Seed and Order are those in which it shows.
	Seed, Order uint64
	By          []string
	// Report describes the run in which it was found.
	Report string
	// Minimal is the smallest schedule that shows it, in MinimalOrder; nil if nothing could be left out. Trace describes
	// its run.
	Minimal      *Schedule
	MinimalOrder uint64
	Trace        string
	// Replay is the command that plays the schedule again.
	Replay string
}

// enough is the number of findings of a batch that are shrunk.
const enough = 5

// shrink shrinks the schedules of the first findings.
func (b Batch) shrink(ctx context.Context, all []Finding) {
	for i := range all {
		f := &all[i]
		if b.Replay != nil {
			f.Replay = b.Replay(f.Seed, f.Order)
		}
		if i >= enough || ctx.Err() != nil {
			continue
		}
		b.Say("seed %d: looking for a smaller schedule", f.Seed)
		if small, order, last := Shrink(ctx, b.Draw(f.Seed), f.Order, b.Play, f.By[0]); last != nil {
			f.Minimal, f.MinimalOrder, f.Trace = &small, order, last.Report()
		}
	}
}

// String describes the finding: the smallest schedule with its trace, and the report.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d in order %d, found by %v\n", f.Seed, f.Order, f.By)
	if f.Minimal != nil {
		fmt.Fprintf(&b, "the smallest schedule that shows it, in order %d:\n%s\n%s\n",
			f.MinimalOrder, f.Minimal.JSON(), f.Trace)
	}
	b.WriteString(f.Report)
	if f.Replay != "" {
		fmt.Fprintf(&b, "again: %s\n", f.Replay)
	}
	return b.String()
}
