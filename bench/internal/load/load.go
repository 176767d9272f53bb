// Package load runs callers that lock and unlock, and measures their latency, throughput and allocations.
package load

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	namesPerCaller = 64 // a caller comes back to a name only when the stragglers of its last pair are long done
	shards         = 16 // histograms that callers share: one for each of 512 would not fit the caches
	// SettleTime is the pause between two rounds.
	SettleTime = 10 * time.Millisecond
	// drainTimeout bounds the last pairs after the window; a pair that takes longer is a failure of the run.
	drainTimeout = 30 * time.Second
	histogramMin = time.Microsecond
	histogramMax = time.Minute
	pairTimeout  = 10 * time.Second // for one pair of each caller, beyond ramp and window
	pollInterval = 5 * time.Millisecond
)

// A Load is a number of callers that lock and unlock, each over names of its own. In a closed loop a caller starts its
// next pair when its last one has ended. With a rate the callers share a timetable, and a pair that starts late because
// all callers were busy is measured from the time at which it was due.
type Load struct {
	Callers int
	Rate    float64       // pairs a second of all callers together; 0: a closed loop
	Ramp    time.Duration // under load before anything counts, at the least
	Window  time.Duration // what counts, at the least
	Prefix  string        // of the names
	// OnOpen, if set, is called once the window has opened, under full load.
	OnOpen func() error
	// OnPair, if set, is called for every pair, in the window or not, by many callers at once.
	OnPair func(begun, ended time.Time, err error)
}

// A Sample is the measurement of a load. A latency belongs to the sample if its pair began in the window, however long
// it took. A pair counts toward throughput if it ended in the window.
type Sample struct {
	Pair, Lock, Extend, Unlock *hdrhistogram.Histogram // ns
	Pairs, failed              int64
	Failure                    error // the first
	Elapsed                    time.Duration
	Allocs                     float64 // per pair
}

// Run applies the load to p. It collects garbage first, so that a load does not pay for the garbage of an earlier one.
func (l Load) Run(ctx context.Context, p Pairer) (*Sample, error) {
	if b, ok := p.(batcher); ok {
		return b.Batches(ctx, l)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := newRecorder(time.Now(), l.Rate)
	names := l.names()
	runtime.GC()
	time.Sleep(SettleTime)

	var callers sync.WaitGroup
	for i := range l.Callers {
		callers.Go(func() { r.runCaller(ctx, p, names[i], &r.shards[i%shards], l.OnPair) })
	}
	err := l.openAndClose(ctx, r)
	canceled := time.AfterFunc(drainTimeout, cancel)
	callers.Wait()
	if !canceled.Stop() && err == nil {
		err = fmt.Errorf("a pair took longer than %v", drainTimeout)
	}
	if err != nil {
		return nil, err
	}
	return r.sample(), nil
}

func (l Load) names() [][]string {
	all := make([][]string, l.Callers)
	for i := range all {
		all[i] = make([]string, namesPerCaller)
		for j := range all[i] {
			all[i][j] = l.Prefix + ":" + strconv.Itoa(i) + ":" + strconv.Itoa(j)
		}
	}
	return all
}

// openAndClose opens and closes the window, and ends the callers. The ramp, and then the window, last until as many
// pairs have ended as there are callers. On a slow machine 512 callers may take longer than the time they were given.
func (l Load) openAndClose(ctx context.Context, r *recorder) error {
	defer r.stop.Store(true)
	if err := l.waitFor(ctx, r, l.Ramp); err != nil {
		return err
	}
	before := Allocations()
	from := r.openWindow()
	if l.OnOpen != nil {
		if err := l.OnOpen(); err != nil {
			return err
		}
	}
	err := l.waitFor(ctx, r, l.Window)
	r.elapsed = r.closeWindow() - from
	r.allocations = Allocations() - before
	return err
}

// waitFor waits at least for the given time. In a closed loop it waits on until as many pairs have ended as there are
// callers.
func (l Load) waitFor(ctx context.Context, r *recorder, least time.Duration) error {
	from := r.ended.Load()
	if err := Sleep(ctx, least); err != nil {
		return err
	}
	for begun := time.Now(); l.Rate == 0 && r.ended.Load()-from < int64(l.Callers) && time.Since(begun) < pairTimeout; {
		if err := Sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
	return nil
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

// A recorder is shared by the callers of one load.
type recorder struct {
	base        time.Time
	from, to    atomic.Int64 // the window, in ns since base; 0 while it has not opened or closed
	stop        atomic.Bool
	ended       atomic.Int64 // pairs, in the window or not
	elapsed     time.Duration
	allocations uint64
	shards      [shards]shard
	timetable   timetable
}

type shard struct {
	mu                         sync.Mutex
	pair, lock, extend, unlock *hdrhistogram.Histogram
	pairs, failed              int64
	failure                    error
}

func newRecorder(base time.Time, rate float64) *recorder {
	r := &recorder{base: base, timetable: timetable{begin: base, rate: rate}}
	for i := range r.shards {
		s := &r.shards[i]
		s.pair, s.lock, s.extend, s.unlock = NewHistogram(), NewHistogram(), NewHistogram(), NewHistogram()
	}
	return r
}

// NewHistogram returns a histogram of durations in nanoseconds.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(histogramMin.Nanoseconds(), histogramMax.Nanoseconds(), 3)
}

func (r *recorder) openWindow() time.Duration {
	now := time.Since(r.base)
	r.from.Store(int64(now))
	return now
}

func (r *recorder) closeWindow() time.Duration {
	now := time.Since(r.base)
	r.to.Store(int64(now))
	return now
}

// inWindow reports whether t lies in the window.
func (r *recorder) inWindow(t time.Time) bool {
	at, from, to := int64(t.Sub(r.base)), r.from.Load(), r.to.Load()
	return from > 0 && at >= from && (to == 0 || at < to)
}

// runCaller locks and unlocks until the recorder stops.
func (r *recorder) runCaller(
	ctx context.Context,
	p Pairer,
	names []string,
	s *shard,
	watch func(begun, ended time.Time, err error),
) {
	for i := 0; !r.stop.Load() && ctx.Err() == nil; i++ {
		begun, ok := r.timetable.next(ctx, &r.stop)
		if !ok {
			return
		}
		m, err := p.Pair(ctx, names[i%len(names)])
		ended := time.Now()
		r.ended.Add(1)
		s.add(r.inWindow(begun), r.inWindow(ended), begun, m, ended, err)
		if watch != nil {
			watch(begun, ended, err)
		}
	}
}

func (s *shard) add(begunIn, endedIn bool, begun time.Time, m Timestamps, ended time.Time, err error) {
	if !begunIn && !endedIn {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.failed++
		if s.failure == nil {
			s.failure = err
		}
	case begunIn:
		Record(s.pair, ended.Sub(begun))
		Record(s.lock, m.Locked.Sub(begun))
		if !m.extended.IsZero() {
			Record(s.extend, m.extended.Sub(m.Locked))
			m.Locked = m.extended
		}
		Record(s.unlock, ended.Sub(m.Locked))
	}
	if err == nil && endedIn {
		s.pairs++
	}
}

// Record records a duration. One that is too long for the histogram counts as its longest.
func Record(h *hdrhistogram.Histogram, d time.Duration) {
	if h.RecordValue(int64(d)) != nil {
		_ = h.RecordValue(int64(histogramMax))
	}
}

func (r *recorder) sample() *Sample {
	all := &Sample{
		Pair:    NewHistogram(),
		Lock:    NewHistogram(),
		Extend:  NewHistogram(),
		Unlock:  NewHistogram(),
		Elapsed: r.elapsed,
	}
	for i := range r.shards {
		s := &r.shards[i]
		all.Pair.Merge(s.pair)
		all.Lock.Merge(s.lock)
		all.Extend.Merge(s.extend)
		all.Unlock.Merge(s.unlock)
		all.Pairs += s.pairs
		all.failed += s.failed
		if all.Failure == nil {
			all.Failure = s.failure
		}
	}
	if all.Pairs > 0 {
		all.Allocs = float64(r.allocations) / float64(all.Pairs)
	}
	return all
}

// Allocations returns the number of objects that the process has allocated. It stops the world for some tens of µs,
// outside the window. The metrics that do not stop the world lack what each CPU has cached.
func Allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
