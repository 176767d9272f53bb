package simulation

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// worker acquires, holds and releases locks until the storm is over.
type worker struct {
	*run
	life   *life
	who    string
	host   *simnet.Host
	locker Locker
	client Client
	n      int // index among the client's workers
	asked  int // number of locks it asked for in turn
	ops    atomic.Int64
	rng    *rand.Rand
}

func newWorker(r *run, client, n int) *worker {
	c, l := r.schedule.Clients[client], r.lives[client]
	return &worker{
		run: r, life: l, who: fmt.Sprintf("%s.%d", l.host.Name(), n+1), host: l.host, locker: l.locker, client: c, n: n,
		rng: rand.New(rand.NewPCG(r.schedule.Seed, uint64(client*100+n+1+10000*(r.started[client]-1)))),
	}
}

func (w *worker) work() {
	for !w.isOver() {
		want := w.draw()
		if h := w.take(want, w.wait()); h != nil {
			w.act(h)
		} else {
			w.pause(context.Background(), within(w.rng, 2*w.client.Rest))
		}
		w.pause(context.Background(), within(w.rng, w.client.Rest))
	}
}

// problem drops the findings of killed clients, whose goroutines prove nothing.
func (w *worker) problem(by string, where, format string, args ...any) {
	if !w.host.Dead() {
		w.run.problem(by, where, format, args...)
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
func (w *worker) take(want locker.Request, p patient) *holding {
	ctx, cancel := context.WithTimeout(context.Background(), p.most)
	defer cancel()
	if want.TTL > 0 { // the wait of a group may be long, but ends with the storm
		defer context.AfterFunc(w.storm, cancel)()
	}
	if p.cancel > 0 {
		defer time.AfterFunc(p.cancel, cancel).Stop()
	}
	op, most := "Lock", p.most
	if want.Try {
		op, most = "TryLock", min(p.most, 3*w.client.Timeout)
	}
	h := w.ask(want)
	h.log(history.Event{
		Kind: history.Invoked, TTL: h.want.TTL, Keepalive: h.want.Keepalive, Fencing: want.Fencing, Try: want.Try,
	})
	w.soon(Acquiring)
	done := w.timed(op, most+patience)
	l, err := w.locker.Lock(ctx, want)
	done()
	switch {
	case err == nil && l == nil:
		w.problem(ByContract, w.who, "%s returned neither lock nor error", op)
		h.log(history.Event{Kind: history.Refused, Err: "no error"})
		return nil
	case err != nil && l != nil:
		w.problem(ByContract, w.who, "%s returned both a lock and an error: %v", op, err)
	}
	w.host.AwaitThaw()
	if err != nil {
		h.log(history.Event{Kind: history.Refused, Err: err.Error()})
		return nil
	}
	if (l.Fence() != 0) != want.Fencing {
		w.problem(ByContract, w.who, "fencing was asked for: %v, and the fencing token is %d", want.Fencing, l.Fence())
	}
	return h.begin(l)
}

// timed returns a function that the caller must call when op has ended. It reports a problem if op took longer than
// most, not counting the time for which the host was frozen.
func (w *worker) timed(op string, most time.Duration) func() {
	start := w.now()
	return func() {
		if w.host.Frozen() {
			return
		}
		if took := w.now() - max(start, w.thawed(w.host.Name())); took > most {
			w.problem(ByLiveness, w.who, "%s took %v, %v at most were expected", op, took, most)
		}
	}
}

func sortBy[T any](s []T, key func(T) time.Duration) {
	slices.SortStableFunc(s, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}
