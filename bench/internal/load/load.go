// Package load runs callers that lock and unlock, and measures their latency, throughput and allocations.
package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Locker locks, from many goroutines at once.
type Locker interface {
	Acquire(ctx context.Context, name string) (HeldLock, error)
	Close() error
}

// A HeldLock can be extended and unlocked.
type HeldLock interface {
	Extend(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// A Value is one measured figure.
type Value struct {
	Name string
	V    float64
}

const (
	namesPerCaller = 64 // a caller comes back to a name only when the stragglers of its last pair are long done
	pairsPerCaller = 256
	settleTime     = 10 * time.Millisecond // before a load
	// drainTimeout bounds the last pairs after the window; a pair that takes longer is a failure of the run.
	drainTimeout = 30 * time.Second
	pairTimeout  = 10 * time.Second // for one pair of each caller, beyond ramp and window
	pollInterval = 5 * time.Millisecond
)

// A Load is a number of callers that lock and unlock, each over names of its own. A caller starts its next pair when
// its last one has ended.
type Load struct {
	Callers int
	Ramp    time.Duration // under load before anything counts, at the least
	Window  time.Duration // what counts, at the least
	Prefix  string        // of the names
	Extend  bool          // every lock before its unlock
	OnOpen  func()        // if set, called once the window has opened, under full load
}

// A pair is one lock and its unlock. All times count from the beginning of the load.
type pair struct {
	begun, locked, extended, ended time.Duration
	failed                         bool
}

// A Sample is what a load measured.
type Sample struct {
	Begun    time.Time
	From, To time.Duration // the window
	Allocs   float64       // per pair that ended in the window
	Failure  error         // the first
	pairs    []pair
}

// Run applies the load to l. It collects garbage first, so that a load does not pay for the garbage of an earlier one.
func (l Load) Run(ctx context.Context, locker Locker) (*Sample, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	callers := make([]*caller, l.Callers)
	for i := range callers {
		callers[i] = &caller{pairs: make([]pair, 0, pairsPerCaller)}
		for j := range namesPerCaller {
			callers[i].names = append(callers[i].names, l.Prefix+":"+strconv.Itoa(i)+":"+strconv.Itoa(j))
		}
	}
	runtime.GC()
	time.Sleep(settleTime)

	s := &Sample{Begun: time.Now()}
	var stop atomic.Bool
	var ended atomic.Int64
	var all sync.WaitGroup
	for _, c := range callers {
		all.Go(func() {
			for !stop.Load() && ctx.Err() == nil {
				c.pair(ctx, locker, l.Extend, s.Begun)
				ended.Add(1)
			}
		})
	}
	allocated, err := l.openAndClose(ctx, s, &ended)
	stop.Store(true)
	canceled := time.AfterFunc(drainTimeout, cancel)
	all.Wait()
	if !canceled.Stop() && err == nil {
		err = fmt.Errorf("a pair took longer than %v", drainTimeout)
	}
	for _, c := range callers {
		s.pairs = append(s.pairs, c.pairs...)
		if s.Failure == nil {
			s.Failure = c.failure
		}
	}
	s.Allocs = float64(allocated) / max(1, float64(len(s.endedInWindow())))
	return s, err
}

// openAndClose waits for the ramp and the window, and returns what the process allocated in the window. Both last until
// as many pairs have ended as there are callers: on a slow machine 512 callers may take longer than they were given.
func (l Load) openAndClose(ctx context.Context, s *Sample, ended *atomic.Int64) (allocated uint64, err error) {
	wait := func(least time.Duration) error {
		from := ended.Load()
		err := Sleep(ctx, least)
		for begun := time.Now(); err == nil && ended.Load()-from < int64(l.Callers) && time.Since(begun) < pairTimeout; {
			err = Sleep(ctx, pollInterval)
		}
		return err
	}
	if err := wait(l.Ramp); err != nil {
		return 0, err
	}
	before := allocations()
	s.From = time.Since(s.Begun)
	if l.OnOpen != nil {
		l.OnOpen()
	}
	err = wait(l.Window)
	s.To = time.Since(s.Begun)
	return allocations() - before, err
}

// A caller locks and unlocks its names in turn.
type caller struct {
	names   []string
	pairs   []pair
	failure error
}

func (c *caller) pair(ctx context.Context, l Locker, extend bool, base time.Time) {
	p := pair{begun: time.Since(base)}
	held, err := l.Acquire(ctx, c.names[len(c.pairs)%len(c.names)])
	p.locked = time.Since(base)
	p.extended = p.locked
	if err == nil {
		if extend {
			err = held.Extend(ctx)
			p.extended = time.Since(base)
		}
		err = errors.Join(err, held.Unlock(ctx))
	}
	p.ended, p.failed = time.Since(base), err != nil
	if c.failure == nil {
		c.failure = err
	}
	c.pairs = append(c.pairs, p)
}

// Sleep waits for d, or until ctx ends, and then returns ctx's error.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// allocations returns the number of objects that the process has allocated. It stops the world for some tens of µs,
// outside the window. The metrics that do not stop the world lack what each CPU has cached.
func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func (s *Sample) endedInWindow() []pair {
	return s.where(func(p pair) bool { return !p.failed && p.ended >= s.From && p.ended < s.To })
}

func (s *Sample) where(keep func(pair) bool) (all []pair) {
	for _, p := range s.pairs {
		if keep(p) {
			all = append(all, p)
		}
	}
	return all
}

// Between returns the percentiles of the successful pairs that began in that time of the load, and how many failed.
func (s *Sample) Between(from, to time.Duration) (times Percentiles, pairs, failed int) {
	began := s.where(func(p pair) bool { return p.begun >= from && p.begun < to })
	times = percentilesOf(began, func(p pair) time.Duration { return p.ended - p.begun })
	for _, p := range began {
		if p.failed {
			failed++
		}
	}
	return times, len(began) - failed, failed
}

// Values returns the figures of the window. A latency belongs to the window if its pair began in it, however long it
// took. A pair counts toward throughput if it ended in the window. It fails if no pair did both.
func (s *Sample) Values() (all []Value, pairs, failed int, err error) {
	began := s.where(func(p pair) bool { return p.begun >= s.From && p.begun < s.To })
	times, whole, failed := s.Between(s.From, s.To)
	pairs = len(s.endedInWindow())
	if pairs == 0 || whole == 0 {
		//nolint:errorlint // Failure may be nil
		return nil, 0, failed, fmt.Errorf("no pair was completed in %v (%d failed: %v)", s.To-s.From, failed, s.Failure)
	}
	all = []Value{
		{"µs/pair", Micros(s.To-s.From) / float64(pairs)}, // the inverse of the throughput
		{"p50 µs", Micros(times.P50)}, {"p99 µs", Micros(times.P99)}, {"allocs/pair", s.Allocs},
	}
	for _, step := range []struct {
		name string
		took func(pair) time.Duration
	}{
		{"Lock", func(p pair) time.Duration { return p.locked - p.begun }},
		{"Extend", func(p pair) time.Duration { return p.extended - p.locked }},
		{"Unlock", func(p pair) time.Duration { return p.ended - p.extended }},
	} {
		if got := percentilesOf(began, step.took); got.Longest > 0 {
			all = append(all, Value{step.name + " p50", Micros(got.P50)}, Value{step.name + " p99", Micros(got.P99)})
		}
	}
	return all, pairs, failed, nil
}

// Reason returns the first failure on one line, or "".
func (s *Sample) Reason() string {
	if s.Failure == nil {
		return ""
	}
	return strings.Join(strings.Fields(s.Failure.Error()), " ")
}

// Percentiles of durations.
type Percentiles struct{ P50, P99, Longest time.Duration }

func percentilesOf(pairs []pair, took func(pair) time.Duration) Percentiles {
	var all []time.Duration
	for _, p := range pairs {
		if !p.failed {
			all = append(all, took(p))
		}
	}
	return PercentilesOf(all)
}

// PercentilesOf sorts the durations, and returns their percentiles, or zeros if there are none.
func PercentilesOf(all []time.Duration) Percentiles {
	if len(all) == 0 {
		return Percentiles{}
	}
	slices.Sort(all)
	rank := func(q float64) time.Duration { return all[min(len(all)-1, int(q*float64(len(all))))] }
	return Percentiles{rank(0.5), rank(0.99), rank(1)}
}

// HalfOfWaiting returns the wait of which this is true: half of all time spent waiting was spent in waits at least as
// long. The waits must be sorted. A percentile by count looks too good if one caller gets the lock again and again at
// once while the others wait: the waits of the others are few, but most of the waiting.
func HalfOfWaiting(sorted []time.Duration) time.Duration {
	var all, below time.Duration
	for _, d := range sorted {
		all += d
	}
	for _, d := range sorted {
		if below += d; below >= all/2 {
			return d
		}
	}
	return 0
}

// Fairness returns the smallest count divided by the largest, and by the mean: 1 if all are equal, 0 if one caller got
// nothing.
func Fairness(got []int64) (byLargest, byMean float64) {
	var sum int64
	for _, n := range got {
		sum += n
	}
	if sum == 0 {
		return 0, 0
	}
	least := float64(slices.Min(got))
	return least / float64(slices.Max(got)), least * float64(len(got)) / float64(sum)
}

// Micros returns d in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
