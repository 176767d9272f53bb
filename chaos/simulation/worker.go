package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// worker locks, holds and unlocks until the storm is over.
type worker struct {
	*run
	who    string
	host   *simnet.Host
	locker Locker
	client Client
	rng    *rand.Rand
}

func newWorker(r *run, client, n int) *worker {
	c := r.schedule.Clients[client]
	return &worker{
		run: r, who: fmt.Sprintf("%s.%d", c.Name, n+1), host: r.hosts[client], locker: r.lockers[client], client: c,
		rng: rand.New(rand.NewPCG(r.schedule.Seed, uint64(client*100+n+1))),
	}
}

func (w *worker) work() {
	for {
		select {
		case <-w.over:
			return
		default:
		}
		name := w.schedule.Names[w.rng.IntN(len(w.schedule.Names))]
		if lock, err := w.lock(name); err == nil {
			w.hold(name, lock)
		} else {
			w.pause(context.Background(), within(w.rng, 200*time.Millisecond))
		}
		w.pause(context.Background(), within(w.rng, 100*time.Millisecond))
	}
}

// pause waits for d on the host's clock, or until the storm is over, or ctx ends.
func (w *worker) pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-w.over:
			cancel()
		case <-stop:
		}
	}()
	_ = clock.Sleep(ctx, w.host.Clock(), d)
	w.host.AwaitThaw()
}

func (w *worker) lock(name string) (Lock, error) {
	wait := within(w.rng, 2*w.client.TTL+time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if w.rng.IntN(8) == 0 {
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
		time.AfterFunc(within(w.rng, wait), cancel) // cancelled, not timed out
	}
	lock, op := w.locker.Lock, "Lock"
	if w.rng.IntN(3) == 0 {
		lock, op, wait = w.locker.TryLock, "TryLock", min(wait, patience)
	}
	done := w.timed(op, wait+patience)
	l, err := lock(ctx, name)
	done()
	switch {
	case err == nil && l == nil:
		w.problem(w.who, "%s returned neither lock nor error", op)
		return nil, errors.New("nothing")
	case err != nil && l != nil:
		w.problem(w.who, "%s returned both a lock and an error: %v", op, err)
	}
	w.host.AwaitThaw()
	return l, err
}

// hold records what the worker may believe, from now on.
func (w *worker) hold(name string, lock Lock) {
	var mu sync.Mutex
	from := w.now()
	ended := time.Duration(-1)
	stop := context.AfterFunc(lock.Context(), func() {
		mu.Lock()
		ended = w.now()
		mu.Unlock()
		w.toldInTime(name, lock)
	})
	defer stop()

	meant := []time.Duration{0, w.client.TTL / 10, w.client.TTL, 2 * w.client.TTL}[w.rng.IntN(4)]
	if meant > 0 {
		meant = within(w.rng, meant)
	}
	ctx := lock.Context()
	if w.client.Greedy {
		meant = 2 * w.client.TTL
	} else if w.rng.IntN(4) == 0 {
		ctx = context.Background() // one that does not look
	}
	if !w.client.Greedy && w.rng.IntN(3) == 0 {
		w.pause(ctx, meant/2)
		w.extend(lock)
		meant /= 2
	}
	w.pause(ctx, meant)

	held := Hold{Name: name, Who: w.who, From: from, To: w.now(), End: "unlocked"}
	if until := w.host.Clock().World(lock.Until()).Sub(w.start); until < held.To {
		held.To, held.End = until, "its time was up"
	}
	mu.Lock()
	if ended >= 0 && ended < held.To {
		held.To, held.End = ended, fmt.Sprintf("told: %v", context.Cause(lock.Context()))
	}
	mu.Unlock()
	w.run.hold(held)
	w.unlock(lock)
}

func (w *worker) extend(lock Lock) {
	ctx, cancel := context.WithTimeout(context.Background(), w.client.TTL)
	defer cancel()
	done := w.timed("Extend", w.client.TTL+patience)
	_ = lock.Extend(ctx)
	done()
	w.host.AwaitThaw()
}

func (w *worker) unlock(lock Lock) {
	ctx, cancel := context.WithTimeout(context.Background(), within(w.rng, time.Second))
	defer cancel()
	if w.rng.IntN(4) == 0 {
		cancel() // Unlock works all the same
	}
	done := w.timed("Unlock", time.Second+patience)
	_ = lock.Unlock(ctx)
	done()
	if lock.Context().Err() == nil {
		w.problem(w.who, "the context of a lock outlives its Unlock")
	}
	w.host.AwaitThaw()
}

// toldInTime checks that the end of a lock's context is no later than its deadline, unless the host was frozen then.
func (w *worker) toldInTime(name string, lock Lock) {
	deadline := w.host.Clock().World(lock.Until()).Sub(w.start)
	deadline = max(deadline, w.thawed(w.client.Name))
	if late := w.now() - deadline; late > time.Millisecond && !w.host.Frozen() {
		w.problem(w.who, "told %v late that %q is lost", late, name)
	}
}

// timed returns a function to call when op has ended, which must be within most, frozen hosts aside.
func (w *worker) timed(op string, most time.Duration) func() {
	start := w.now()
	return func() {
		if w.host.Frozen() {
			return
		}
		if took := w.now() - max(start, w.thawed(w.client.Name)); took > most {
			w.problem(w.who, "%s took %v, %v at most were expected", op, took, most)
		}
	}
}

func sortBy[T any](s []T, key func(T) time.Duration) {
	slices.SortStableFunc(s, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}
