package suite

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/machine"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

const (
	scaleSmokeTTL = 4 * time.Second
	scaleCallers  = 64
	scaleLives    = 2 // number of TTLs for which no lock may be lost; the last one is the idle time that is measured
	scaleWarm     = 256
)

// scalePart acquires many locks in one Locker and leaves them to its keepalive. The restart guard is off. It plays no
// part in keeping locks, the masters were empty when this run started, and the run should not wait a minute for the
// restart window to pass.
func scalePart(ctx context.Context, s *session) (err error) {
	r := &report.Scale{Locks: s.locks, TTL: s.rampOf(report.ScaleTTL, scaleSmokeTTL)}
	r.Idle = r.TTL
	s.progress.stage("scale: %d locks, TTL %v, about %v", r.Locks, r.TTL, (scaleLives * r.TTL).Round(time.Second))
	if err := s.masters.Flush(ctx); err != nil {
		return err
	}
	running := runtime.NumGoroutine()
	locker, err := redlock.Open(
		s.masters.URLs[:peers.QuorumMasters],
		redlock.WithTTL(r.TTL),
		redlock.WithoutRestartGuard(),
	)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locker.Close(), s.masters.Flush(ctx)) }()
	if err := takeAll(ctx, locker, "bench:warm:", make([]*redlock.Lock, scaleWarm)); err != nil {
		return err
	}
	locks := make([]*redlock.Lock, r.Locks)
	before := heap()
	begun := time.Now()
	if err := takeAll(ctx, locker, "bench:held:", locks); err != nil {
		return err
	}
	r.TakenIn = time.Since(begun)
	r.Heap = float64(heap()-before) / float64(r.Locks)
	s.progress.live("scale: until extensions are spread evenly")
	if err := load.Sleep(ctx, (scaleLives-1)*r.TTL); err != nil {
		return err
	}
	if err := measureIdle(ctx, r, s, running); err != nil {
		return err
	}
	s.progress.clear()
	r.Lost = countLost(locks)
	s.report.Scale = r
	return nil
}

// measureIdle measures what the held locks cost while no caller does anything. It must not begin in their first TTL: in
// the first third of it no lock is extended, and then all are extended within a short time. running is the number of
// goroutines before the Locker was opened.
func measureIdle(ctx context.Context, r *report.Scale, s *session, running int) error {
	extended, err := s.masters.ScriptCalls(ctx)
	if err != nil {
		return err
	}
	cpu, begun := machine.CPUSeconds(), time.Now()
	s.progress.live("scale: idle for %v", r.Idle)
	if err := load.Sleep(ctx, r.Idle); err != nil {
		return err
	}
	r.Goroutines = runtime.NumGoroutine() - running
	r.CPU = -1
	if now := machine.CPUSeconds(); now > 0 {
		r.CPU = now - cpu
	}
	after, err := s.masters.ScriptCalls(ctx)
	r.Extensions = float64(after-extended) / time.Since(begun).Seconds()
	return err
}

// takeAll fills locks with locks on distinct names.
func takeAll(ctx context.Context, locker *redlock.Locker, prefix string, locks []*redlock.Lock) error {
	var all sync.WaitGroup
	errs := make([]error, scaleCallers)
	for c := range scaleCallers {
		all.Go(func() {
			for i := c; i < len(locks) && errs[c] == nil; i += scaleCallers {
				locks[i], errs[c] = locker.Lock(ctx, prefix+strconv.Itoa(i))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func countLost(locks []*redlock.Lock) (n int) {
	for _, l := range locks {
		if l.Err() != nil || !time.Now().Before(l.Until()) {
			n++
		}
	}
	return n
}

// heap returns the size of the live heap. It collects twice, because the first collection only begins to free what
// finalizers and pools keep.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
