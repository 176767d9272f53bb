package simulation

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/internal/simnet"
)

// microScenariosOfHolding verify what a holder may rely on.
var microScenariosOfHolding = []microScenario{
	{name: "frozen through the deadline", draw: nothing, play: (*env).frozenThrough},
	{name: "given up", draw: nothing, play: (*env).givenUp},
	{name: "longest hold", draw: awake, play: (*env).longestHold},
}

// frozenThrough checks that a lock is over once its loss was notified or its deadline has passed, even if the replies
// to an extension that was sent in time arrive then. They arrive in the last millisecond, in which the loss is
// notified, or when a frozen process thaws.
func (e *env) frozenThrough() {
	const way = 20 * time.Millisecond
	each(e.world.Masters(), func(m *simnet.Master) { m.Delay(way, 0) })
	w := e.worker(0)
	for i := range 12 {
		h := w.free(e.want(kinds.Mutex))
		until := h.until()
		ask := func() error { return h.lock.Extend(context.Background()) }
		var err error
		if i%2 == 0 {
			time.Sleep(until - within(e.rng, 900*time.Microsecond) - 2*way - e.now())
			err = ask()
		} else {
			err = w.sleepThrough(until, way, ask)
		}
		time.Sleep(2 * time.Millisecond)
		if later := h.until(); err == nil || h.lock.Context().Err() == nil || later > until+time.Microsecond {
			e.problem(
				check.ByLossNotified,
				w.who,
				"%q is held until %v, its deadline came at %v, before the answers to an extension: %v",
				h.want.Names,
				stamp(later),
				stamp(until),
				err,
			)
		}
		_ = h.unlock()
		time.Sleep(time.Second)
	}
	w.suspended()
}

// sleepThrough freezes the host while the replies to ask are in flight, until the deadline has passed.
func (w *worker) sleepThrough(until, way time.Duration, ask func() error) error {
	time.Sleep(until - 100*time.Millisecond - w.now())
	answer := make(chan error, 1)
	go func() { answer <- ask() }()
	time.Sleep(way * 3 / 2)
	w.freeze(w.life)
	w.note(w.client.Name, "frozen, until %v", stamp(until))
	time.Sleep(until + within(w.rng, 20*time.Millisecond) - w.now())
	w.thaw(w.life)
	return <-answer
}

// givenUp checks that a client sends no request to a further master after its caller has received the answer, and that
// a caller that gives up keeps nothing.
func (e *env) givenUp() {
	w, other := e.worker(0), e.worker(1)
	taken := other.free(e.want(kinds.Mutex))
	for range 4 {
		down := e.some(e.schedule.Masters - e.majority())
		each(down, (*simnet.Master).Freeze)
		// This request is in flight to the frozen masters, and the next one queues behind it.
		before := locker.Request{Mode: kinds.Mutex, Names: []string{"before"}, Try: true}
		h := w.must(before, time.Second, "a majority answers")
		want := e.want(kinds.Mutex)
		want.Try = true
		if w.take(want, patient{most: time.Second}) != nil {
			w.problem(ByContract, w.who, "got %q though it is held", want.Names)
		}
		left := e.now()
		time.Sleep(within(e.rng, w.client.Timeout/2))
		each(down, (*simnet.Master).Thaw)
		time.Sleep(time.Second)
		e.unasked(w.client.Name, want.Names, left)
		h.sure()
	}
	taken.sure()
	e.leftAsPassed(w, other)
}

// unasked reports a problem if the client asked a master for one of the names after the given time.
func (h *recorder) unasked(client string, names []string, since time.Duration) {
	h.mu.Lock()
	commands := h.commands
	h.mu.Unlock()
	for _, e := range commands {
		if at := e.At.Sub(h.start); e.Host == client && at > since && h.labels.acquires(e) && about(e, names) {
			h.problem(ByLoad, e.Host, "asked master %d for a lock at %v, though its caller had left by %v",
				e.Master, stamp(at), stamp(since))
		}
	}
}

func awake(_ *rand.Rand, s *Schedule) {
	for i := range s.Clients {
		s.Clients[i].Keepalive = true
	}
}

// longestHold checks that keepalive extends a lock with a maximum until then and no longer, and that another client
// gets it at once.
func (e *env) longestHold() {
	w, other := e.worker(0), e.worker(1)
	for _, kind := range []string{kinds.Mutex, kinds.Writer, kinds.Reentrant} {
		want := e.want(kind)
		want.MaxHold = within(e.rng, 3*w.client.TTL)
		h := w.free(want)
		if want.MaxHold = 0; want.Owner != "" {
			want.Owner = "owner2"
		}
		// MaxHold counts from when the masters were asked, which is between the call and its return.
		soonest, latest := h.asked+h.want.MaxHold, h.from+h.want.MaxHold
		waited := other.await(want, 5*w.client.TTL)
		w.pause(h.lock.Context(), 4*w.client.TTL)
		end := e.now()
		exact := 2*time.Millisecond + h.want.MaxHold/200 // the loss is notified 1 ms early, by a clock that drifts
		if end < soonest-exact || end > latest+exact || !causeIs(h.lock.Context(), redlock.ErrLost) {
			e.problem(check.ByLossNotified, w.who,
				"a %v with a maximum of %v was asked for at %v, had at %v, and ended at %v: %v",
				kind, h.want.MaxHold, stamp(h.asked), stamp(h.from), stamp(end), context.Cause(h.lock.Context()))
		}
		next := <-waited
		if next == nil || next.from > latest+exact+3*other.client.Timeout {
			e.problem(check.ByLiveness, other.who, "did not get %q when its maximum had come by %v: %v",
				want.Names, stamp(latest), next != nil)
		}
		if next != nil {
			next.sure()
		}
		h.attempt.Over()
	}
	e.closedEarly(w, other)
}
