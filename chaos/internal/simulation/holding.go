package simulation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// holding is a lock that a worker holds, with what the worker may assume about it.
type holding struct {
	*worker
	want        locker.Request
	lock        Lock
	kind        string // Reader after a downgrade
	asked, from time.Duration
	stop        func() bool

	mu    sync.Mutex
	ended time.Duration // when the lock's context ended; negative before that
}

// begin returns the holding of a lock that a worker has just acquired, and watches the lock's context.
func (w *worker) begin(want locker.Request, lock Lock, asked time.Duration) *holding {
	h := &holding{worker: w, want: want, lock: lock, kind: want.Mode, asked: asked, from: w.now(), ended: -1}
	h.stop = context.AfterFunc(lock.Context(), func() {
		h.mu.Lock()
		h.ended = h.now()
		h.mu.Unlock()
		h.toldInTime()
	})
	return h
}

// until returns when the lock's validity ends, in true time.
func (h *holding) until() time.Duration { return h.host.Clock().World(h.lock.Until()).Sub(h.start) }

// believe records the hold that the event happens ends now. The hold ends earlier if its Until has passed or its Locker
// has closed. A notification of loss does not end it, since no other client may hold the lock before Until.
func (h *holding) believe(happens string) {
	held := Hold{
		Who: h.who, Kind: h.kind, Owner: h.want.Owner, Fence: h.lock.Fence(),
		Asked: h.asked, From: h.from, To: h.now(), End: happens, TTL: h.client.TTL, Keepalive: h.client.Keepalive,
	}
	if h.want.TTL > 0 {
		held.TTL, held.Keepalive = h.want.TTL, h.want.Keepalive
	}
	if h.kind == kinds.Reentrant && held.Fence != 0 {
		held.Token = h.lock.Token()
	}
	if until := h.until(); until < held.To {
		held.To, held.End, held.Lost = until, "its time was up", true
	}
	h.mu.Lock()
	if h.ended >= 0 && h.ended < held.To {
		why := context.Cause(h.lock.Context())
		held.Lost = errors.Is(why, redlock.ErrLost)
		if held.Lost {
			held.End += fmt.Sprintf(", told at %v", stamp(h.ended))
		} else {
			held.To, held.End = h.ended, fmt.Sprintf("told: %v", why)
		}
	}
	h.mu.Unlock()
	for _, name := range h.want.Names {
		held.Name = name
		h.hold(held)
	}
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
	h.believe("downgraded")
	h.kind, h.from = kinds.Reader, h.now()
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
	_ = h.lock.Unlock(ctx)
	done()
	if h.lock.Context().Err() == nil {
		h.problem(ByContract, h.who, "the context of a lock outlives its Unlock")
	}
	h.host.AwaitThaw()
}

// toldInTime checks that the lock's context has ended by its deadline, unless the host was frozen then.
func (h *holding) toldInTime() {
	deadline := max(h.until(), h.thawed(h.host.Name()))
	if late := h.now() - deadline; late > time.Millisecond && !h.host.Frozen() {
		h.problem(ByLossNotified, h.who, "told %v late that %q is lost", late, h.want.Names)
	}
}
