package suite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
	"github.com/redlock-go/redlock/election"
)

const (
	waitingName                 = "bench:waiting"
	waitingTime, waitingSmoke   = 3 * time.Second, 300 * time.Millisecond
	waitingSettles, waitsSmoke  = 3 * time.Second, 300 * time.Millisecond
	waitingTTL                  = time.Minute // so that the holder extends its lock rarely
	waitingSlots                = 1000
	manyWaiters, moreWaiters    = 100, 1000
	waitsForMutex, waitsForRead = "a mutex", "a reader"
)

// wait acquires a lock. i tells the callers apart.
type wait func(ctx context.Context, l *redlock.Locker, i int) (*redlock.Lock, error)

// waitsMeasured are the ways to wait, and for what.
var waitsMeasured = []struct {
	kind, behind string
	wait, hold   wait
}{
	{"mutex", waitsForMutex, lockMutex, lockMutex},
	{"reader", "a writer", lockReader, lockWriter},
	{"writer", waitsForRead, lockWriter, lockReader},
	{"reentrant, an owner each", waitsForMutex, func(
		ctx context.Context, l *redlock.Locker, i int,
	) (*redlock.Lock, error) {
		return l.Reentrant(waitingName, strconv.Itoa(i)).Lock(ctx)
	}, lockMutex},
	{fmt.Sprintf("%d permits", waitingSlots), waitsForMutex, func(
		ctx context.Context, l *redlock.Locker, _ int,
	) (*redlock.Lock, error) {
		return l.Semaphore(waitingName, waitingSlots).Acquire(ctx)
	}, lockMutex},
	{"LockAll", waitsForMutex, func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
		return l.LockAll(ctx, []string{waitingName, waitingName + ":another"})
	}, lockMutex},
	{"Campaign", waitsForMutex, func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
		_, err := election.New(l, waitingName).Campaign(ctx)
		return nil, err
	}, lockMutex},
	{"Observe", waitsForMutex, func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
		for range election.New(l, waitingName).Observe(ctx) {
		}
		return nil, ctx.Err()
	}, lockMutex},
}

func lockMutex(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
	return l.Lock(ctx, waitingName)
}

func lockReader(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
	return l.RW(waitingName).RLock(ctx)
}

func lockWriter(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
	return l.RW(waitingName).Lock(ctx)
}

// waitingCost measures the commands that callers make who wait for a holder that does nothing. The restart guard is
// off, as in scalePart.
func waitingCost(ctx context.Context, s *session) error {
	settles, window := s.rampOf(waitingSettles, waitsSmoke), s.sliceOf(waitingTime, waitingSmoke)
	s.progress.stage("contention: waiters, about %v",
		(time.Duration(3*len(waitsMeasured)) * (settles + window)).Round(time.Second))
	for _, w := range waitsMeasured {
		row := &report.WaitingRow{Kind: w.kind, Behind: w.behind}
		for _, n := range []int{1, manyWaiters, moreWaiters} {
			s.progress.live("contention: %d waiters, %s", n, w.kind)
			rate, err := commandsOf(ctx, s, w.hold, w.wait, n, settles, window)
			if err != nil {
				return fmt.Errorf("%d waiters, %s: %w", n, w.kind, err)
			}
			row.Counts = append(row.Counts, report.WaitingCount{Waiters: n, PerSecond: rate})
		}
		s.report.Waiting = append(s.report.Waiting, row)
	}
	s.progress.clear()
	return nil
}

// commandsOf returns how many commands a second the masters execute while n callers of one Locker wait.
func commandsOf(
	ctx context.Context, s *session, hold, wait wait, n int, settles, window time.Duration,
) (rate float64, err error) {
	open := func() (*redlock.Locker, error) {
		return redlock.Open(s.masters.URLs[:peers.QuorumMasters], redlock.WithTTL(waitingTTL), redlock.WithoutRestartGuard())
	}
	holder, err := open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, holder.Close()) }()
	if _, err := hold(ctx, holder, -1); err != nil {
		return 0, err
	}
	waiter, err := open()
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
	for i := range n {
		all.Go(func() { _, _ = wait(waiting, waiter, i) })
	}
	if err := load.Sleep(ctx, settles); err != nil {
		return 0, err
	}
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
