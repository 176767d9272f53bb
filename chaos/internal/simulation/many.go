package simulation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Summary adds up the results of many schedules.
type Summary struct {
	Schedules int
	Found     []Finding
	// Holds is the number of locks held, and Commands the number of commands that the masters executed.
	Holds, Commands int64
	// HandedOver is the number of locks that one holder passed to the next.
	HandedOver int64
	// Virtual is the duration in the bubbles' time, summed over all schedules. Wall is the real duration.
	Virtual, Wall time.Duration
	// Profiles is the number of schedules of each profile.
	Profiles map[string]int
	// Overlaps is the number of pairs of holders at the same time where the faults break exclusion.
	Overlaps int
	// LostUpdates is the number of updates that registers without fencing tokens lost.
	LostUpdates int
	// ByChecker is what each checker found, including what is excused.
	ByChecker map[string]Detection
	// Wanted is the number of schedules that use each name, and Held how often each name was held. Planned is how often
	// the schedules contain each fault that a scenario names, and Injected how often it was injected.
	Wanted, Held      map[string]int
	Planned, Injected map[string]int
}

// Finding is a schedule in which a checker found something.
type Finding struct {
	Seed uint64
	By   []string
	// Report describes the run in which it was found.
	Report string
	// Runs is the number of further runs of the same schedule. The finding showed again in Again of them.
	Again, Runs int
	// Minimal is the smallest schedule that still showed it, in Shrunk of Runs runs.
	Minimal Schedule
	Shrunk  int
}

const (
	again     = 10               // number of further runs of a finding
	shrinking = 30 * time.Second // limit for shrinking a finding
	enough    = 5                // number of findings that are run again and shrunk
)

// Many runs n schedules with consecutive seeds, starting at from. See [Batch.Run].
func Many(ctx context.Context, from uint64, n int, say func(format string, args ...any)) (Summary, error) {
	sum, err := Batch{From: from, N: n, Draw: Draw, Open: Product(), Say: say}.Run(ctx)
	if err == nil && sum.Schedules >= 100 && sum.HandedOver == 0 {
		return sum, errors.New("no lock was handed over: these schedules say nothing about hand-over")
	}
	return sum, err
}

// Batch is a set of schedules with consecutive seeds.
type Batch struct {
	// From is the first seed and N the number of schedules. Draw makes the schedule of a seed.
	From uint64
	N    int
	Draw func(seed uint64) Schedule
	// Open opens the Lockers.
	Open Open
	// Excused reports whether the findings of a checker are only counted.
	Excused func(string) bool
	// Unshrunk says that findings are neither run again nor shrunk.
	Unshrunk bool
	// Say receives a progress message from time to time.
	Say func(format string, args ...any)
}

// Run runs the schedules, as many at a time as there are processors, then runs the first findings again and shrinks
// them. If ctx ends, Run returns an error and the summary of the schedules that have run.
func (b Batch) Run(ctx context.Context) (Summary, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // most allocations live only as long as their schedule
	redis.SetLogger(silent{})
	start := time.Now()
	sum := Summary{
		Profiles:  make(map[string]int),
		ByChecker: make(map[string]Detection),
		Wanted:    make(map[string]int),
		Held:      make(map[string]int),
		Planned:   make(map[string]int),
		Injected:  make(map[string]int),
	}
	var next atomic.Uint64
	var mu sync.Mutex
	var all sync.WaitGroup
	lastSaid := start
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= uint64(b.N) {
					return
				}
				r := InBubble(b.Draw(b.From+i), b.Open)
				mu.Lock()
				before := len(sum.Found)
				sum.add(r, b.excused)
				if n := len(sum.Found); n > before && n <= enough && !b.Unshrunk {
					b.Say("seed %d: found by %s", r.Schedule.Seed, strings.Join(r.By(), ", "))
				}
				if now := time.Now(); now.Sub(lastSaid) > 5*time.Second {
					lastSaid = now
					b.Say("%d of %d schedules after %v, %d with a violation",
						sum.Schedules, b.N, now.Sub(start).Round(time.Second), len(sum.Found))
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for i := range sum.Found {
		if i < enough && !b.Unshrunk && ctx.Err() == nil {
			b.Say("seed %d: once more, and smaller", sum.Found[i].Seed)
			sum.Found[i].rerunAndShrink(ctx, b.Draw(sum.Found[i].Seed), b.Open)
		}
	}
	sum.Wall = time.Since(start)
	if err := ctx.Err(); err != nil {
		return sum, fmt.Errorf("%d of %d schedules were run: %w", sum.Schedules, b.N, err)
	}
	if sum.Schedules > 0 && sum.Holds < 5*int64(sum.Schedules) {
		return sum, errors.New("hardly anybody got a lock: these schedules show nothing")
	}
	return sum, nil
}

func (b Batch) excused(c string) bool { return b.Excused != nil && b.Excused(c) }

// Detection is what one checker found in many schedules, excused or not.
type Detection struct {
	// Schedules is the number of schedules in which it found something. First describes its finding in one of them,
	// whose seed is Seed.
	Schedules int
	First     string
	Seed      uint64
}

func (s *Summary) add(r *Result, excused func(string) bool) {
	s.Schedules++
	s.Profiles[r.Schedule.Profile]++
	s.Holds += int64(r.Holds)
	s.HandedOver += int64(r.HandedOver)
	s.Commands += int64(r.Commands)
	s.Virtual += r.Took
	s.Overlaps += len(r.Overlaps)
	s.LostUpdates += r.LostUpdates
	for _, e := range r.Events {
		if e.Kind == history.Acquired {
			for _, name := range e.Locked() {
				s.Held[name]++
			}
		}
	}
	for _, name := range r.Schedule.Names {
		s.Wanted[name]++
	}
	for _, step := range r.Schedule.Plan {
		s.Planned[step.Fault]++
	}
	for name, n := range r.Injected {
		s.Injected[name] += n
	}
	first := make(map[string]string)
	note := func(c string, text string) {
		if _, ok := first[c]; !ok {
			first[c] = text
		}
	}
	for _, v := range slices.Concat(r.Violations, r.Overlaps) {
		note(v.By, v.String())
	}
	for _, p := range r.Problems {
		note(p.By, p.String())
	}
	for c, text := range first {
		seen := s.ByChecker[c]
		if seen.Schedules++; seen.Schedules == 1 {
			seen.First, seen.Seed = text, r.Schedule.Seed
		}
		s.ByChecker[c] = seen
	}
	if by := slices.DeleteFunc(r.By(), excused); len(by) > 0 {
		s.Found = append(s.Found, Finding{Seed: r.Schedule.Seed, By: by, Report: r.Report()})
	}
}

// rerunAndShrink runs a finding again and shrinks its schedule.
func (f *Finding) rerunAndShrink(ctx context.Context, s Schedule, open Open) {
	f.Runs = again
	f.Again, _ = Shows(ctx, s, open, f.By[0], again)
	bounded, cancel := context.WithTimeout(ctx, shrinking)
	defer cancel()
	f.Minimal = s
	if f.Again > 0 {
		f.Minimal = Shrink(bounded, s, open, f.By[0], 2+4*again/f.Again)
	}
	f.Shrunk, _ = Shows(ctx, f.Minimal, open, f.By[0], again)
}

// String describes the finding: how often it shows, the smallest schedule, and the report.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, found by %v; it showed in %d of %d further runs\n", f.Seed, f.By, f.Again, f.Runs)
	if f.Runs > 0 {
		fmt.Fprintf(&b, "the smallest schedule that shows it, in %d of %d runs:\n%v%s\n",
			f.Shrunk, f.Runs, f.Minimal, f.Minimal.JSON())
	}
	b.WriteString(f.Report)
	return b.String()
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
