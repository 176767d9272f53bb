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
)

// Summary is what many schedules came to.
type Summary struct {
	Schedules int
	Found     []Finding
	// Holds and Commands are how often a lock was had, and how many commands the masters executed.
	Holds, Commands int64
	// HandedOver is how often a lock was had straight from another holder.
	HandedOver int64
	// Virtual is how long it all took in the bubbles' time, and Wall in ours.
	Virtual, Wall time.Duration
	// Profiles are how many schedules each profile had.
	Profiles map[string]int
	// Overlaps are how often two held a lock at once where the faults break exclusion.
	Overlaps int
	// LostUpdates are those that registers without fencing tokens lost.
	LostUpdates int
	// Seen is what each checker found.
	Seen map[Checker]Sighting
	// Wanted is how many schedules each name was in, and Held how often it was had. Planned is how often they have each
	// fault that a scenario names, and Injected how often it was injected.
	Wanted, Held      map[string]int
	Planned, Injected map[string]int
}

// Finding is a schedule in which something was found that must not be.
type Finding struct {
	Seed uint64
	By   []Checker
	// Report is what happened when it was found.
	Report string
	// Again is how many of Runs further runs of the same schedule showed it too.
	Again, Runs int
	// Minimal is the smallest schedule that still showed it, in Shrunk of Runs runs.
	Minimal Schedule
	Shrunk  int
}

const (
	again     = 10               // how often a finding is run again
	shrinking = 30 * time.Second // how long it is made smaller
	enough    = 5                // how many findings are
)

// Many runs n schedules drawn from a seed on, see [Batch.Run].
func Many(ctx context.Context, from uint64, n int, say func(format string, args ...any)) (Summary, error) {
	sum, err := Batch{From: from, N: n, Draw: Draw, Open: Product(), Say: say}.Run(ctx)
	if err == nil && sum.Schedules >= 100 && sum.HandedOver == 0 {
		return sum, errors.New("nobody handed a lock over: these schedules show nothing of that")
	}
	return sum, err
}

// Batch is many schedules.
type Batch struct {
	// From is the first seed, N how many there are, and Draw makes a schedule of a seed.
	From uint64
	N    int
	Draw func(seed uint64) Schedule
	// Open makes the Lockers.
	Open Open
	// Excused are the checkers that may find something: it is counted, and that is all.
	Excused func(Checker) bool
	// Unshrunk: a finding is not run again, nor shrunk.
	Unshrunk bool
	// Say tells a person from time to time how far it is.
	Say func(format string, args ...any)
}

// Run runs as many schedules at a time as there are processors. A finding is run again, and shrunk, when all have run.
// On an error (ctx ended) the summary is of what had run.
func (b Batch) Run(ctx context.Context) (Summary, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // short lives, little of it kept
	redis.SetLogger(silent{})
	start := time.Now()
	sum := Summary{
		Profiles: make(
			map[string]int,
		),
		Seen:     make(map[Checker]Sighting),
		Wanted:   make(map[string]int),
		Held:     make(map[string]int),
		Planned:  make(map[string]int),
		Injected: make(map[string]int),
	}
	var next atomic.Uint64
	var mu sync.Mutex
	var all sync.WaitGroup
	told := start
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= uint64(b.N) {
					return
				}
				r := InBubble(b.Draw(b.From+i), b.Open)
				mu.Lock()
				sum.add(r, b.excused)
				if now := time.Now(); now.Sub(told) > 5*time.Second {
					told = now
					b.Say(
						"%d of %d schedules after %v, %d with a violation",
						sum.Schedules,
						b.N,
						now.Sub(start).Round(time.Second),
						len(sum.Found),
					)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for i := range sum.Found {
		if i < enough && !b.Unshrunk && ctx.Err() == nil {
			b.Say("seed %d: once more, and smaller", sum.Found[i].Seed)
			sum.Found[i].look(ctx, b.Draw(sum.Found[i].Seed), b.Open)
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

func (b Batch) excused(c Checker) bool { return b.Excused != nil && b.Excused(c) }

// Sighting is what a checker found in many schedules, excused or not.
type Sighting struct {
	// Schedules are in how many it found something, and First what it was in one of them, whose seed is Seed.
	Schedules int
	First     string
	Seed      uint64
}

func (s *Summary) add(r *Result, excused func(Checker) bool) {
	s.Schedules++
	s.Profiles[r.Schedule.Profile]++
	s.Holds += int64(len(r.Holds))
	s.HandedOver += int64(r.HandedOver)
	s.Commands += int64(r.Commands)
	s.Virtual += r.Took
	s.Overlaps += len(r.Overlaps)
	s.LostUpdates += r.LostUpdates
	for _, h := range r.Holds {
		s.Held[h.Name]++
	}
	for _, name := range r.Schedule.Names {
		s.Wanted[name]++
	}
	for _, f := range r.Schedule.Faults {
		s.Planned[f.Name]++
	}
	for name, n := range r.Injected {
		s.Injected[name] += n
	}
	first := make(map[Checker]string)
	see := func(c Checker, text string) {
		if _, ok := first[c]; !ok {
			first[c] = text
		}
	}
	for _, v := range slices.Concat(r.Violations, r.Overlaps) {
		see(v.By(), v.String())
	}
	for _, p := range r.Problems {
		see(p.By, p.String())
	}
	for c, text := range first {
		seen := s.Seen[c]
		if seen.Schedules++; seen.Schedules == 1 {
			seen.First, seen.Seed = text, r.Schedule.Seed
		}
		s.Seen[c] = seen
	}
	if by := slices.DeleteFunc(r.By(), excused); len(by) > 0 {
		s.Found = append(s.Found, Finding{Seed: r.Schedule.Seed, By: by, Report: r.Report()})
	}
}

// look runs a finding again, and makes it smaller.
func (f *Finding) look(ctx context.Context, s Schedule, open Open) {
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

// String is the finding for a person: how often it shows, the smallest schedule, and what happened.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, found by %v; it showed in %d of %d further runs\n", f.Seed, f.By, f.Again, f.Runs)
	if f.Runs > 0 {
		fmt.Fprintf(
			&b,
			"the smallest schedule that shows it, in %d of %d runs:\n%v%s\n",
			f.Shrunk,
			f.Runs,
			f.Minimal,
			f.Minimal.JSON(),
		)
	}
	b.WriteString(f.Report)
	return b.String()
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
