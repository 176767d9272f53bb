package simulation

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// microScenariosOfTurns verify that a Locker serves each of several names, and how a waiting writer keeps readers out.
var microScenariosOfTurns = []microScenario{
	{name: "two names in turn", draw: drowsyOnTwo, play: (*env).namesInTurn},
	{name: "a dead writer's intent", draw: farBounds, play: (*env).deadWriter},
}

// drowsyOnTwo is drowsy with two names.
func drowsyOnTwo(r *rand.Rand, s *Schedule) {
	drowsy(r, s)
	s.Names = []string{"a", "b"}
}

// namesInTurn checks that a Locker receives every release message of a name for which it waits, even if it waited for
// that name before and has waited for another name ever since.
func (e *env) namesInTurn() {
	holders, waiters := e.worker(0), []*worker{e.worker(1), e.worker(1)}
	modes := []string{kinds.Mutex, kinds.Writer, kinds.Reentrant}
	kept := e.rng.IntN(2)
	wanted := func(i int, owner string) locker.Request {
		w := locker.Request{Mode: modes[e.rng.IntN(len(modes))], Names: e.schedule.Names[i:][:1]}
		if w.Mode == kinds.Reentrant {
			w.Owner = owner
		}
		return w
	}
	// release ends a hold and checks how soon the waiter gets the name.
	release := func(h *holding, w *worker, got chan *holding, when string) {
		released := e.now()
		h.sure()
		// One attempt, and a probe of the blocker if that attempt crosses the release.
		w.follows(got, released, 3*w.client.Timeout, when)
	}

	for range 4 {
		other := 1 - kept
		long := holders.free(wanted(kept, "owner1"))
		longWait := waiters[0].await(wanted(kept, "owner2"), 30*time.Second)
		for range 3 {
			h := holders.free(wanted(other, "owner1"))
			got := waiters[1].await(wanted(other, "owner2"), 30*time.Second)
			holders.pause(context.Background(), 200*time.Millisecond+within(e.rng, 300*time.Millisecond))
			release(h, waiters[1], got, "while its client waits for another name")
			holders.pause(context.Background(), 100*time.Millisecond) // meanwhile, the waiter is not subscribed to it
			if long.lock.Context().Err() != nil {
				e.problem(check.ByLiveness, long.who, "lost %q, though all masters answer", long.want.Names)
			}
		}
		release(long, waiters[0], longWait, "while others came and went")
		kept = other
	}
}

// farBounds makes a writer's retry bounds either much shorter or longer than a second. A waiting writer with long
// bounds renews its intent once a second.
func farBounds(r *rand.Rand, s *Schedule) {
	for i := range s.Clients {
		s.Clients[i].Keepalive = true
	}
	writer := &s.Clients[1]
	bounds := [][2]time.Duration{{10, 100}, {50, 300}, {1500, 2500}, {2000, 4000}, {3000, 8000}}[r.IntN(5)]
	writer.RetryMin, writer.RetryMax = bounds[0]*time.Millisecond, bounds[1]*time.Millisecond
	// Readers get the name when the intent has expired, even without a release message.
	s.Clients[0].RetryMin, s.Clients[0].RetryMax = 10*time.Millisecond, 50*time.Millisecond
}

// deadWriter checks that an exclusive waiter keeps new readers out for as long as it lives, and after its death for no
// longer than the TTL of its intent, whatever its retry bounds are.
func (e *env) deadWriter() {
	first, second, writer := e.worker(0), e.worker(0), e.worker(1)
	for i := range e.schedule.Masters {
		e.hosts[1].To(i).Delay(5*time.Millisecond, 0) // the readers are nearer
	}
	h := first.free(e.want(kinds.Reader))
	kind := []string{kinds.Writer, kinds.Writer, kinds.Mutex, kinds.Reentrant, kinds.Several}[e.rng.IntN(5)]
	wrote := writer.await(e.want(kind), time.Minute)
	time.Sleep(2 * writer.client.Timeout) // its first attempt and its probe

	quitter := e.worker(0) // it withdraws its own intent, and no other
	if w := quitter.take(e.want(kinds.Writer), patient{most: 2 * quitter.client.Timeout}); w != nil {
		e.problem(check.ByExclusion, quitter.who, "got %q, which a reader holds", w.want.Names)
		w.sure()
	}

	came := second.await(e.want(kinds.Reader), time.Minute)
	select {
	case early := <-came:
		e.problem(check.ByLiveness, second.who, "came in at %v, though a writer waits (a %s)", stamp(e.now()), kind)
		if early != nil {
			early.sure()
		}
		came <- nil
	case <-time.After(2*time.Second + within(e.rng, 3*time.Second)): // the intent is renewed several times
	}
	e.freeze(writer.life)
	dead := e.now()
	e.note(writer.client.Name, "dead")
	life := writer.client.intentLife()
	bound := life + life/50 + second.client.RetryMax + 3*second.client.Timeout
	if next := <-came; next != nil {
		if next.from-dead > bound {
			e.problem(check.ByLiveness, second.who, "was kept out for %v by a dead writer, %v at most were expected",
				next.from-dead, bound)
		}
		next.sure()
	}

	e.thaw(writer.life)
	h.sure()
	if w := <-wrote; w != nil {
		w.sure()
	} else {
		e.problem(check.ByLiveness, writer.who,
			"did not get %q when it lived again and the readers had gone", e.schedule.Names[0])
	}
}
