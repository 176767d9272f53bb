package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/clock"
)

const (
	unlockTimeout = 5 * time.Second
	usualPatience = 20 * time.Second // of most acquisitions: some try once, and some wait for a short time
	retryPause    = 20 * time.Millisecond
)

var impatience = Span{20 * time.Millisecond, 500 * time.Millisecond}

// Worker is one goroutine's identity in the history.
type Worker struct {
	life *Life
	id   int
	ops  atomic.Int64 // the last number given to an acquisition
	rng  *rand.Rand   // used by the goroutine alone
}

// try says how one acquisition is made.
type try struct {
	kinds.Request
	patience time.Duration
	hold     time.Duration
	careless bool
	depth    int // further holds nested in this one
	register string
	phase    string
}

// storm locks, holds and unlocks a group's names until ctx ends.
func (w *Worker) storm(ctx context.Context, g Group) {
	for ctx.Err() == nil {
		if !w.cycle(ctx, w.draw(g)) {
			pause(ctx, retryPause)
		}
		pause(ctx, g.Rest.Draw(w.rng))
	}
}

// draw draws the next acquisition in a group.
func (w *Worker) draw(g Group) try {
	t := try{
		Request: kinds.Request{
			Mode: g.Mode, Names: w.names(g), Slots: g.Slots, TTL: g.TTL, Keepalive: g.Keepalive, Fencing: g.Fencing,
			MinHold: g.MinHold,
		},
		hold: g.Hold.Draw(w.rng), careless: g.Careless, register: g.Register, phase: history.Storm,
		patience: usualPatience, depth: max(g.Depth, 1) - 1,
	}
	if g.Mode == ReadersWriters {
		t.Mode = kinds.Reader
		if w.rng.Float64() < g.Writers {
			t.Mode = kinds.Writer
		}
	}
	if kinds.Of(t.Mode).Owned() {
		t.Owner = w.life.Client
		if g.Owner == OwnerWorker {
			t.Owner = fmt.Sprintf("%s.%d/%d", w.life.Client, w.life.Config.Life, w.id)
		}
	}
	switch w.rng.IntN(6) {
	case 0:
		t.Try = !kinds.Of(t.Mode).Elected()
	case 1:
		t.patience = impatience.Draw(w.rng)
	default: // patient
	}
	return t
}

// names draws which of the group's names to lock, in any order.
func (w *Worker) names(g Group) []string {
	names := g.names(w.life.Prefix, w.life.Client)
	w.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if kinds.Of(g.Mode).Several {
		return names[:2+w.rng.IntN(len(names)-1)]
	}
	return names[:1]
}

// pass acquires a name once. It retries after every refusal until its patience ends.
func (w *Worker) pass(ctx context.Context, t try) {
	deadline := time.Now().Add(t.patience)
	for !w.cycle(ctx, t) {
		if t.patience = time.Until(deadline); t.patience <= 0 || ctx.Err() != nil {
			return
		}
		pause(ctx, retryPause)
	}
}

// cycle makes one acquisition with everything that follows it, and reports whether it succeeded. Each step is in the
// history before the next one begins. In particular the end of the belief is written before the unlock is sent.
func (w *Worker) cycle(ctx context.Context, t try) bool {
	wait, cancel := context.WithTimeout(ctx, t.patience)
	a := w.take(wait, t)
	cancel()
	if a == nil {
		return false
	}
	a.section(ctx)
	a.Over()
	unlock, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	a.Unlock(unlock)
	return true
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func pause(ctx context.Context, d time.Duration) { _ = clock.Sleep(ctx, clock.System, d) }
