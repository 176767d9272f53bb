package suite

import (
	"context"
	"errors"
	"fmt"
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
	waitingName   = "bench:waiting"
	waitingTTL    = time.Minute // so that the holder extends its lock rarely
	scaleSmokeTTL = 4 * time.Second
	scaleCallers  = 64
	scaleWarm     = 256
)

// waits are the kinds of locks that are waited for, and the kind of their holder.
var waits = [][2]string{
	{peers.Mutex, peers.Mutex},
	{"reader", "writer"},
	{"writer", "reader"},
	{"reentrant", peers.Mutex},
	{peers.FreePermits, peers.Mutex},
}

// waitingPart measures how many commands a second all five masters execute, those of scripts included, while callers of
// one process wait for a holder that does nothing.
func waitingPart(ctx context.Context, s *session) error {
	settles, window := either(s.settings, 3*time.Second, 300*time.Millisecond),
		s.sliceOf(3*time.Second, 300*time.Millisecond)
	s.say("waiting: about %v", (time.Duration(3*len(waits)) * (settles + window)).Round(time.Second))
	for _, w := range waits {
		for _, n := range []int{1, 100, 1000} {
			rate, err := s.commandsOf(ctx, w[0], w[1], n, settles, window)
			if err != nil {
				return fmt.Errorf("%d waiters, %s: %w", n, w[0], err)
			}
			s.report.Add("waiting", "commands/s of all masters", w[0]+" behind a "+w[1],
				load.Value{Name: report.Callers(n), V: rate})
		}
	}
	return nil
}

// commandsOf returns how many commands a second the masters execute while n callers of one Locker wait.
func (s *session) commandsOf(
	ctx context.Context, wait, hold string, n int, settles, window time.Duration,
) (rate float64, err error) {
	open := func(name string) (load.Locker, error) {
		o := peers.Options{TTL: waitingTTL, NoGuard: true}
		return peers.Named([]string{name}, "")[0].Open(s.masters.URLs[:peers.QuorumMasters], o)
	}
	holder, err := open(hold)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, holder.Close()) }()
	if _, err := holder.Acquire(ctx, waitingName); err != nil {
		return 0, err
	}
	waiter, err := open(wait)
	if err != nil {
		return 0, err
	}
	waiting, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer func() {
		cancel()
		all.Wait()
		err = errors.Join(err, waiter.Close())
	}()
	for range n {
		all.Go(func() { _, _ = waiter.Acquire(waiting, waitingName) })
	}
	if err := load.Sleep(ctx, settles); err != nil {
		return 0, err
	}
	return s.commandsDuring(ctx, window)
}

// commandsDuring returns how many commands a second the masters execute in the next window.
func (s *session) commandsDuring(ctx context.Context, window time.Duration) (float64, error) {
	before, err := s.masters.Commands(ctx)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := load.Sleep(ctx, window); err != nil {
		return 0, err
	}
	after, err := s.masters.Commands(ctx)
	own := int64(len(s.masters.URLs))
	return float64(after-before-own) / time.Since(begun).Seconds(), err
}

// scalePart acquires many locks in one Locker and leaves them to its keepalive. The restart guard is off: it plays no
// part in keeping locks, and the masters were empty when this run started. It is idle for a second TTL: in the
// first third of the first one no lock is extended, and then all are extended within a short time.
func scalePart(ctx context.Context, s *session) (err error) {
	ttl := either(s.settings, report.ScaleTTL, scaleSmokeTTL)
	s.say("scale: %d locks, TTL %v, about %v", s.locks, ttl, 2*ttl)
	if err := s.masters.Flush(ctx); err != nil {
		return err
	}
	running := runtime.NumGoroutine()
	locker, err := redlock.Open(s.masters.URLs[:peers.QuorumMasters], redlock.WithTTL(ttl), redlock.WithoutRestartGuard())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locker.Close(), s.masters.Flush(ctx)) }()
	if err := takeAll(ctx, locker, "bench:warm:", make([]*redlock.Lock, scaleWarm)); err != nil {
		return err
	}
	locks := make([]*redlock.Lock, s.locks)
	before, begun := heap(), time.Now()
	if err := takeAll(ctx, locker, "bench:held:", locks); err != nil {
		return err
	}
	values := []load.Value{
		{Name: "taken in s", V: time.Since(begun).Seconds()},
		{Name: "heap bytes/lock", V: float64(heap()-before) / float64(s.locks)},
	}
	if err := load.Sleep(ctx, ttl); err != nil {
		return err
	}
	cpu := machine.CPUSeconds()
	commands, err := s.commandsDuring(ctx, ttl)
	if err != nil {
		return err
	}
	values = append(values, load.Value{Name: "commands/s of all masters", V: commands},
		load.Value{Name: "goroutines", V: float64(runtime.NumGoroutine() - running)},
		load.Value{Name: "lost", V: float64(countLost(locks))})
	if now := machine.CPUSeconds(); now > 0 {
		values = append(values, load.Value{Name: "idle CPU s", V: now - cpu})
	}
	s.report.Add("scale", report.Scale(s.locks, ttl), peers.Redlock, values...)
	return nil
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
