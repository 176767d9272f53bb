package simulation

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// holding is an acquisition and the lock that it returned. Its events in the history are what the worker believes.
type holding struct {
	*worker
	attempt *traffic.Attempt
	want    kinds.Request
	lock    Lock
}

// ask begins an acquisition.
func (w *worker) ask(want kinds.Request) *holding {
	if want.TTL == 0 {
		want.TTL, want.Keepalive = w.client.TTL, w.client.Keepalive
	}
	return &holding{worker: w, attempt: w.traffic.Ask(want), want: want}
}

// begin begins the hold of a lock that a worker has just acquired.
func (h *holding) begin(lock Lock) *holding {
	h.attempt.Acquired(lock)
	h.lock = lock
	return h
}

// until returns when the lock's validity ends, in true time.
func (h *holding) until() time.Duration { return h.life.TrueTime(h.lock.Until()) }

func (h *holding) extend() {
	ctx, cancel := context.WithTimeout(context.Background(), h.client.TTL)
	defer cancel()
	_ = h.lock.Extend(ctx)
	h.host.AwaitThaw()
}

// end unlocks the lock. Sometimes the context of Unlock is already canceled.
func (h *holding) end() {
	h.attempt.Over()
	ctx, cancel := context.WithTimeout(context.Background(), within(h.rng, time.Second))
	defer cancel()
	if h.rng.IntN(4) == 0 {
		cancel() // Unlock must work with a canceled context
	}
	_ = h.attempt.Unlock(ctx)
	h.host.AwaitThaw()
}
