package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
)

const (
	scaleTTL, scaleSmokeTTL   = 60 * time.Second, 4 * time.Second
	scaleIdle, scaleSmokeIdle = 30 * time.Second, 2 * time.Second
	scaleCallers              = 64
	scaleLives                = 2 // TTLs after which none may be lost
	scaleWarm                 = 256
)

// scaleReport is what many held locks cost that are kept alive.
type scaleReport struct {
	Locks      int           `json:"locks"`
	TTL        time.Duration `json:"ttl_ns"`
	Idle       time.Duration `json:"idle_ns"`
	TakenIn    time.Duration `json:"taken_in_ns"`
	Heap       float64       `json:"heap_bytes_per_lock"`
	Goroutines int           `json:"goroutines"`       // of the Locker: beyond those that ran before it
	CPU        float64       `json:"cpu_seconds_idle"` // of this process, while nobody asks for anything; -1 where the system does not tell
	Extensions float64       `json:"extend_commands_per_second_and_master"`
	Lost       int           `json:"lost"`
}

// scalePart takes many locks in one Locker and leaves them to it. The restart guard is off: it plays no part in keeping
// locks, the masters came up empty for this run, and nobody waits a minute for them to grow old.
func scalePart(ctx context.Context, s *session) (err error) {
	r := &scaleReport{Locks: s.held, TTL: s.rampOf(scaleTTL, scaleSmokeTTL), Idle: s.rampOf(scaleIdle, scaleSmokeIdle)}
	s.progress.stage("scale: %d locks, TTL %v, about %v", r.Locks, r.TTL, (scaleLives*r.TTL + r.Idle/2).Round(time.Second))
	if err := s.masters.flush(ctx); err != nil {
		return err
	}
	running := runtime.NumGoroutine()
	locker, err := redlock.Open(s.masters.urls[:quorumMasters], redlock.WithTTL(r.TTL), redlock.WithoutRestartGuard())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locker.Close(), s.masters.flush(ctx)) }()
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
	if err := r.idle(ctx, s, running); err != nil {
		return err
	}
	s.progress.live("scale: until two TTLs are over")
	if err := pause(ctx, scaleLives*r.TTL-time.Since(begun.Add(r.TakenIn))); err != nil {
		return err
	}
	s.progress.clear()
	r.Lost = countLost(locks)
	s.report.Scale = r
	return nil
}

func (r *scaleReport) idle(ctx context.Context, s *session, running int) error {
	extended, err := s.masters.scriptCalls(ctx)
	if err != nil {
		return err
	}
	cpu, begun := cpuSeconds(), time.Now()
	s.progress.live("scale: idle for %v", r.Idle)
	if err := pause(ctx, r.Idle); err != nil {
		return err
	}
	r.Goroutines = runtime.NumGoroutine() - running
	r.CPU = -1
	if now := cpuSeconds(); now > 0 {
		r.CPU = now - cpu
	}
	after, err := s.masters.scriptCalls(ctx)
	r.Extensions = float64(after-extended) / time.Since(begun).Seconds()
	return err
}

// takeAll fills locks with locks of names of their own.
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

// heap is what lives on it. Two collections, because the first one only begins to free what finalizers and pools keep.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// scriptCalls is how many scripts the first master has run.
func (m *masters) scriptCalls(ctx context.Context) (n int64, err error) {
	info, err := m.clients[0].Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, fmt.Errorf("master 1: %w", err)
	}
	return callsIn(info), nil
}

// callsIn adds up the calls of EVALSHA and EVAL in what INFO commandstats tells.
func callsIn(info string) (n int64) {
	for line := range strings.Lines(info) {
		rest, found := strings.CutPrefix(line, "cmdstat_evalsha:calls=")
		if !found {
			if rest, found = strings.CutPrefix(line, "cmdstat_eval:calls="); !found {
				continue
			}
		}
		calls, _, _ := strings.Cut(rest, ",")
		if c, err := strconv.ParseInt(calls, 10, 64); err == nil {
			n += c
		}
	}
	return n
}
