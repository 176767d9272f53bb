package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/clock"
)

// worker acquires, holds and releases locks until the storm is over.
type worker struct {
	*life
	traffic *traffic.Worker
	who     string
	n       int // index among the client's workers
	asked   int // number of locks it asked for in turn
	rng     *rand.Rand
}

func newWorker(l *life, client, n int) *worker {
	return &worker{
		life: l, traffic: l.traffic.Worker(), who: fmt.Sprintf("%s.%d", l.host.Name(), n+1), n: n,
		rng: rand.New(rand.NewPCG(l.run.schedule.Seed, uint64(client*100+n+1+10000*l.number))),
	}
}

func (w *worker) work() {
	for w.run.storm.Err() == nil {
		want := w.draw()
		if a := w.take(want, w.wait()); a != nil {
			w.act(a)
		} else {
			w.pause(context.Background(), within(w.rng, 2*w.settings.Rest))
		}
		w.pause(context.Background(), within(w.rng, w.settings.Rest))
	}
}

// pause waits for d on the host's clock, until the storm is over, or until ctx ends.
func (w *worker) pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.run.storm, cancel)()
	_ = clock.Sleep(ctx, w.host.Clock(), d)
	w.Awake()
}

// patient says how a worker waits for a lock.
type patient struct {
	most   time.Duration
	cancel time.Duration // when to cancel the wait, 0 for never
}

func (w *worker) wait() patient {
	p := patient{most: within(w.rng, w.settings.Wait)}
	if w.rng.IntN(8) == 0 {
		p.cancel = within(w.rng, p.most)
	}
	return p
}

// take asks for a lock. It returns nil if the worker does not get it.
func (w *worker) take(want kinds.Request, p patient) *traffic.Attempt {
	if want.TTL == 0 {
		want.TTL, want.Keepalive = w.settings.TTL, w.settings.Keepalive
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.most)
	defer cancel()
	if p.cancel > 0 {
		defer time.AfterFunc(p.cancel, cancel).Stop()
	}
	return w.traffic.Take(ctx, want)
}

func (w *worker) extend(a *traffic.Attempt) {
	ctx, cancel := context.WithTimeout(context.Background(), w.settings.TTL)
	defer cancel()
	_ = a.Lock.(kinds.Handle).Extend(ctx)
	w.Awake()
}

// unlock unlocks the lock. Sometimes the context of Unlock is already canceled.
func (w *worker) unlock(a *traffic.Attempt) {
	a.Over()
	ctx, cancel := context.WithTimeout(context.Background(), within(w.rng, time.Second))
	defer cancel()
	if w.rng.IntN(4) == 0 {
		cancel() // Unlock must work with a canceled context
	}
	a.Unlock(ctx)
	w.Awake()
}
