package simulation

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// worker acquires, holds and releases locks until the storm is over.
type worker struct {
	*run
	life    *life
	traffic *traffic.Worker
	who     string
	host    *simnet.Host
	locker  Locker
	client  Client
	n       int // index among the client's workers
	asked   int // number of locks it asked for in turn
	rng     *rand.Rand
}

func newWorker(r *run, client, n int) *worker {
	c, l := r.schedule.Clients[client], r.lives[client]
	return &worker{
		run: r, life: l, traffic: l.traffic.Worker(), who: fmt.Sprintf("%s.%d", l.host.Name(), n+1), host: l.host,
		locker: contract{l.locker, l}, client: c, n: n,
		rng: rand.New(rand.NewPCG(r.schedule.Seed, uint64(client*100+n+1+10000*(r.started[client]-1)))),
	}
}

func (w *worker) work() {
	for !w.isOver() {
		want := w.draw()
		if a := w.take(want, w.wait()); a != nil {
			w.act(a)
		} else {
			w.pause(context.Background(), within(w.rng, 2*w.client.Rest))
		}
		w.pause(context.Background(), within(w.rng, w.client.Rest))
	}
}

func (w *worker) isOver() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// pause waits for d on the host's clock, until the storm is over, or until ctx ends.
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

// patient says how a worker waits for a lock.
type patient struct {
	most   time.Duration
	cancel time.Duration // when to cancel the wait, 0 for never
}

func (w *worker) wait() patient {
	p := patient{most: within(w.rng, w.client.Wait)}
	if w.rng.IntN(8) == 0 {
		p.cancel = within(w.rng, p.most)
	}
	return p
}

// take asks for a lock. It returns nil if the worker does not get it.
func (w *worker) take(want kinds.Request, p patient) *traffic.Attempt {
	if want.TTL == 0 {
		want.TTL, want.Keepalive = w.client.TTL, w.client.Keepalive
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.most)
	defer cancel()
	if p.cancel > 0 {
		defer time.AfterFunc(p.cancel, cancel).Stop()
	}
	a := w.traffic.Ask(want)
	l, err := w.locker.Lock(ctx, want)
	w.host.AwaitThaw()
	if err != nil {
		a.Refused(err)
		return nil
	}
	a.Acquired(l)
	return a
}

func (w *worker) extend(a *traffic.Attempt) {
	ctx, cancel := context.WithTimeout(context.Background(), w.client.TTL)
	defer cancel()
	_ = a.Lock.(Lock).Extend(ctx)
	w.host.AwaitThaw()
}

// unlock unlocks the lock. Sometimes the context of Unlock is already canceled.
func (w *worker) unlock(a *traffic.Attempt) {
	a.Over()
	ctx, cancel := context.WithTimeout(context.Background(), within(w.rng, time.Second))
	defer cancel()
	if w.rng.IntN(4) == 0 {
		cancel() // Unlock must work with a canceled context
	}
	_ = a.Unlock(ctx)
	w.host.AwaitThaw()
}

func sortBy[T any](s []T, key func(T) time.Duration) {
	slices.SortStableFunc(s, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}
