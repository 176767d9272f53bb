package main

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
	quiet          = 10 * time.Millisecond
	drain          = 30 * time.Second // for the last pairs after the window; a pair that takes longer is a failure of the run
	histogramMin   = time.Microsecond
	histogramMax   = time.Minute
	patience       = 10 * time.Second // for one pair of each caller, beyond ramp and window
	glance         = 5 * time.Millisecond
)

// A load is callers over names of their own. In a closed loop each starts the next pair when its last one has ended; with
// a rate they share a timetable, and a pair that starts late because all were busy is measured from when it was due.
type load struct {
	callers int
	rate    float64       // pairs a second of all callers together; 0: a closed loop
	ramp    time.Duration // under load before anything counts, at the least
	window  time.Duration // what counts, at the least
	prefix  string        // of the names
	// opened, if set, is called once the window has opened, under full load.
	opened func() error
	// watch, if set, is shown every pair, in the window or not, by many callers at once.
	watch func(begun, ended time.Time, err error)
}

// A sample is what a load saw. A latency belongs to the sample if its pair began in the window, however long it took; a
// pair counts towards throughput if it ended there.
type sample struct {
	pair, lock, extend, unlock *hdrhistogram.Histogram // ns
	pairs, failed              int64
	failure                    error // the first
	elapsed                    time.Duration
	allocs                     float64 // per pair
}

// run applies the load to p. It collects garbage first, so that nobody pays for the one before.
func (l load) run(ctx context.Context, p pairer) (*sample, error) {
	if b, ok := p.(batcher); ok {
		return b.Batches(ctx, l)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := newRecorder(time.Now(), l.rate)
	names := l.names()
	runtime.GC()
	time.Sleep(quiet)

	var callers sync.WaitGroup
	for i := range l.callers {
		callers.Go(func() { r.call(ctx, p, names[i], &r.shards[i%shards], l.watch) })
	}
	err := l.conduct(ctx, r)
	cancelled := time.AfterFunc(drain, cancel)
	callers.Wait()
	if !cancelled.Stop() && err == nil {
		err = fmt.Errorf("a pair took longer than %v", drain)
	}
	if err != nil {
		return nil, err
	}
	return r.sample(), nil
}

func (l load) names() [][]string {
	all := make([][]string, l.callers)
	for i := range all {
		all[i] = make([]string, namesPerCaller)
		for j := range all[i] {
			all[i][j] = l.prefix + ":" + strconv.Itoa(i) + ":" + strconv.Itoa(j)
		}
	}
	return all
}

// conduct opens and closes the window, and ends the callers. The ramp, and then the window, go on until as many pairs
// have ended as there are callers: on a slow machine 512 of them may take longer than the time they were given.
func (l load) conduct(ctx context.Context, r *recorder) error {
	defer r.stop.Store(true)
	if err := l.last(ctx, r, l.ramp); err != nil {
		return err
	}
	before := allocations()
	from := r.open()
	if l.opened != nil {
		if err := l.opened(); err != nil {
			return err
		}
	}
	err := l.last(ctx, r, l.window)
	r.elapsed = r.shut() - from
	r.allocations = allocations() - before
	return err
}

// last waits for least, and in a closed loop on until every caller can have ended a pair.
func (l load) last(ctx context.Context, r *recorder, least time.Duration) error {
	from := r.ended.Load()
	if err := pause(ctx, least); err != nil {
		return err
	}
	for begun := time.Now(); l.rate == 0 && r.ended.Load()-from < int64(l.callers) && time.Since(begun) < patience; {
		if err := pause(ctx, glance); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
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
		s.pair, s.lock, s.extend, s.unlock = histogram(), histogram(), histogram(), histogram()
	}
	return r
}

func histogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(histogramMin.Nanoseconds(), histogramMax.Nanoseconds(), 3)
}

func (r *recorder) open() time.Duration {
	now := time.Since(r.base)
	r.from.Store(int64(now))
	return now
}

func (r *recorder) shut() time.Duration {
	now := time.Since(r.base)
	r.to.Store(int64(now))
	return now
}

// in reports whether t lies in the window.
func (r *recorder) in(t time.Time) bool {
	at, from, to := int64(t.Sub(r.base)), r.from.Load(), r.to.Load()
	return from > 0 && at >= from && (to == 0 || at < to)
}

// call is one caller.
func (r *recorder) call(ctx context.Context, p pairer, names []string, s *shard, watch func(begun, ended time.Time, err error)) {
	for i := 0; !r.stop.Load() && ctx.Err() == nil; i++ {
		begun, ok := r.timetable.next(ctx, &r.stop)
		if !ok {
			return
		}
		m, err := p.Pair(ctx, names[i%len(names)])
		ended := time.Now()
		r.ended.Add(1)
		s.record(r.in(begun), r.in(ended), begun, m, ended, err)
		if watch != nil {
			watch(begun, ended, err)
		}
	}
}

func (s *shard) record(begunIn, endedIn bool, begun time.Time, m marks, ended time.Time, err error) {
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
		put(s.pair, ended.Sub(begun))
		put(s.lock, m.locked.Sub(begun))
		if !m.extended.IsZero() {
			put(s.extend, m.extended.Sub(m.locked))
			m.locked = m.extended
		}
		put(s.unlock, ended.Sub(m.locked))
	}
	if err == nil && endedIn {
		s.pairs++
	}
}

func put(h *hdrhistogram.Histogram, d time.Duration) {
	if h.RecordValue(int64(d)) != nil {
		_ = h.RecordValue(int64(histogramMax))
	}
}

func (r *recorder) sample() *sample {
	all := &sample{pair: histogram(), lock: histogram(), extend: histogram(), unlock: histogram(), elapsed: r.elapsed}
	for i := range r.shards {
		s := &r.shards[i]
		all.pair.Merge(s.pair)
		all.lock.Merge(s.lock)
		all.extend.Merge(s.extend)
		all.unlock.Merge(s.unlock)
		all.pairs += s.pairs
		all.failed += s.failed
		if all.failure == nil {
			all.failure = s.failure
		}
	}
	if all.pairs > 0 {
		all.allocs = float64(r.allocations) / float64(all.pairs)
	}
	return all
}

// allocations is how many objects the process has allocated. It stops the world for some tens of µs, outside the window;
// the metrics that do not stop it lag behind by what each CPU has cached.
func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
