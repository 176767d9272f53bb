package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// holding is an acquisition and the lock that it returned. Its events in the history are what the worker believes.
type holding struct {
	*worker
	want        locker.Request
	lock        Lock
	op          int
	downgraded  atomic.Bool   // the context's end is recorded by a goroutine of its own
	deadline    time.Duration // the last deadline that is in the history
	begun       time.Time
	asked, from time.Duration
	stop        func() bool
}

// ask begins an acquisition.
func (w *worker) ask(want locker.Request) *holding {
	if want.TTL == 0 {
		want.TTL, want.Keepalive = w.client.TTL, w.client.Keepalive
	}
	return &holding{worker: w, want: want, op: int(w.ops.Add(1)), begun: time.Now(), asked: w.now()}
}

// mode returns the kind of the lock, which is a reader's after a downgrade.
func (h *holding) mode() string {
	if h.downgraded.Load() {
		return kinds.Reader
	}
	return h.want.Mode
}

// log adds an event to the history. A killed client writes none, but the deadline that it last knew is known.
func (h *holding) log(e history.Event) {
	if h.host.Dead() && e.Kind != history.Extended {
		return
	}
	names := slices.Sorted(slices.Values(h.want.Names))
	e.Client, e.Life, e.Worker, e.Op = h.life.client, h.life.number, h.n+1, h.op
	e.Name, e.Mode, e.Owner = strings.Join(names, ","), h.mode(), h.want.Owner
	if len(names) > 1 {
		e.Names = names
	}
	h.recorder.log(e)
}

// begin begins the hold of a lock that a worker has just acquired, and watches the lock's context.
func (h *holding) begin(lock Lock) *holding {
	h.lock, h.from = lock, h.now()
	h.deadline = h.until()
	e := history.Event{
		Kind: history.Acquired, TTL: h.want.TTL, Keepalive: h.want.Keepalive, Fence: lock.Fence(), Until: h.deadline,
	}
	if l, ok := h.locker.(voter); ok {
		e.Votes = l.Votes(h.want.Names, h.begun)
	}
	h.log(e)
	h.stop = context.AfterFunc(lock.Context(), func() {
		h.log(history.Event{Kind: history.Lost, Err: fmt.Sprint(context.Cause(lock.Context()))})
	})
	return h
}

// voter is a Locker that knows the masters' answers to an acquisition.
type voter interface {
	Votes(names []string, since time.Time) []history.Vote
}

// until returns when the lock's validity ends, in true time.
func (h *holding) until() time.Duration { return h.host.Clock().World(h.lock.Until()).Sub(h.start) }

// learn records the present deadline. A lock that was extended was valid all the time, so the record is dated back to
// the beginning of the hold.
func (h *holding) learn() {
	if until := h.until(); until != h.deadline {
		h.deadline = until
		h.log(history.Event{T: h.from, Kind: history.Extended, Until: until})
	}
}

// believe records that the hold ends now, because what happens ends it. It ends earlier if its deadline has passed. A
// notification of a loss does not end it, since no other client may hold the lock before the deadline.
func (h *holding) believe(happens string) {
	h.learn()
	h.log(history.Event{Kind: history.ReleaseCalled, Err: happens})
}

func (h *holding) extend() {
	ctx, cancel := context.WithTimeout(context.Background(), h.client.TTL)
	defer cancel()
	done := h.timed("Extend", h.client.TTL+patience)
	_ = h.lock.Extend(ctx)
	done()
	h.host.AwaitThaw()
}

// downgrade turns a writer into a reader. The holder counts as a reader from the call on, whatever the result.
func (h *holding) downgrade() {
	h.learn()
	h.downgraded.Store(true)
	h.from = h.now()
	h.log(history.Event{Kind: history.Downgraded})
	ctx, cancel := context.WithTimeout(context.Background(), h.client.TTL)
	defer cancel()
	done := h.timed("Downgrade", h.client.TTL+patience)
	_ = h.lock.Downgrade(ctx)
	done()
	h.host.AwaitThaw()
}

// end unlocks the lock and records its hold. Sometimes the context of Unlock is already canceled.
func (h *holding) end() {
	defer h.stop()
	h.believe("unlocked")
	ctx, cancel := context.WithTimeout(context.Background(), within(h.rng, time.Second))
	defer cancel()
	if h.rng.IntN(4) == 0 {
		cancel() // Unlock must work with a canceled context
	}
	h.soon(Releasing)
	done := h.timed("Unlock", h.client.Timeout+patience)
	err := h.lock.Unlock(ctx)
	done()
	h.released(err)
	if h.lock.Context().Err() == nil {
		h.problem(ByContract, h.who, "the context of a lock outlives its Unlock")
	}
	h.host.AwaitThaw()
}

// released records that the unlock returned.
func (h *holding) released(err error) {
	e := history.Event{Kind: history.Released}
	if err != nil {
		e.Err = err.Error()
	}
	h.log(e)
}
