package traffic

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock/chaos/history"
)

const (
	lookAtUntil   = 5 * time.Millisecond // how often a holder looks whether its lock was extended
	unlockTimeout = 5 * time.Second
	usualPatience = 10 * time.Second
	leastPatience = 20 * time.Millisecond
	mostPatience  = 500 * time.Millisecond
	retryPause    = 20 * time.Millisecond
)

// worker is one goroutine's identity in the history.
type worker struct {
	client *client
	id     int
	op     int
	rng    *rand.Rand
}

// try says how one acquisition is made.
type try struct {
	name      string
	ttl       time.Duration
	keepalive bool
	careless  bool
	once      bool // one round, no waiting
	patience  time.Duration
	hold      time.Duration
	phase     string
}

// storm locks, holds and unlocks one group's name until ctx ends.
func (w *worker) storm(ctx context.Context, g Group) {
	for ctx.Err() == nil {
		t := try{
			name: w.client.config.Prefix + g.Name, ttl: g.TTL, keepalive: g.Keepalive, careless: g.Careless,
			patience: usualPatience, hold: g.hold(w.rng), phase: history.Storm,
		}
		switch w.rng.IntN(6) {
		case 0:
			t.once = true
		case 1:
			t.patience = span{leastPatience, mostPatience}.draw(w.rng)
		default: // patient
		}
		if !w.cycle(ctx, t) {
			pause(ctx, retryPause)
		}
	}
}

// pass acquires a name once, trying again after every refusal until its patience ends.
func (w *worker) pass(ctx context.Context, t try) {
	deadline := time.Now().Add(t.patience)
	for {
		if w.cycle(ctx, t) {
			return
		}
		if t.patience = time.Until(deadline); t.patience <= 0 || ctx.Err() != nil {
			return
		}
		pause(ctx, retryPause)
	}
}

// cycle is one acquisition with everything that follows, and reports whether there was one. Every step is in the history
// before the next begins: the end of the belief in particular before the unlock is sent.
func (w *worker) cycle(ctx context.Context, t try) bool {
	w.op++
	w.log(t, history.Event{Kind: history.Invoked, TTL: t.ttl})
	wait, cancel := context.WithTimeout(ctx, t.patience)
	l, err := w.client.locker.Lock(wait, t.name, t.ttl, t.keepalive, t.once)
	cancel()
	if err != nil {
		w.log(t, history.Event{Kind: history.Refused, Err: err.Error()})
		return false
	}
	now := w.client.clock.Now()
	until := l.Until()
	w.log(t, history.Event{Kind: history.Acquired, T: now, TTL: t.ttl, Token: l.Token(), Until: w.client.clock.Of(until)})
	w.client.held.Add(1)

	w.hold(ctx, t, l, until)

	w.log(t, history.Event{Kind: history.ReleaseCalled, Token: l.Token()})
	unlock, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	err = l.Unlock(unlock)
	e := history.Event{Kind: history.Released, Token: l.Token()}
	if err != nil {
		e.Err = err.Error()
	}
	w.log(t, e)
	return true
}

// hold holds for as long as t says, or until ctx ends or the lock is lost. It writes down every new deadline that it
// sees, and the loss.
func (w *worker) hold(ctx context.Context, t try, l lock, until time.Time) {
	end := time.NewTimer(t.hold)
	defer end.Stop()
	look := time.NewTicker(lookAtUntil)
	defer look.Stop()
	gone := l.Context().Done()
	for {
		select {
		case <-gone:
			w.log(t, history.Event{Kind: history.Lost, Token: l.Token(), Err: context.Cause(l.Context()).Error()})
			if !t.careless {
				return
			}
			gone = nil
		case <-look.C:
			if u := l.Until(); !u.Equal(until) {
				until = u
				w.log(t, history.Event{Kind: history.Extended, Token: l.Token(), Until: w.client.clock.Of(u)})
			}
		case <-end.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (w *worker) log(t try, e history.Event) {
	e.Client, e.Life, e.Worker, e.Op = w.client.config.Client, w.client.config.Life, w.id, w.op
	e.Name, e.Phase = t.name, t.phase
	w.client.history.Write(e)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
