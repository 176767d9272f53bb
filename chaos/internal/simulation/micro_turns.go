package simulation

import (
	"context"
	"math/rand/v2"
	"time"
)

// microScenariosOfTurns are about what a Locker owes each of several names, and a writer that waits while it waits for
// long.
var microScenariosOfTurns = []microScenario{
	{name: "two names in turn", draw: drowsyOnTwo, play: (*env).namesInTurn},
	{name: "a dead writer's intent", draw: farBounds, play: (*env).deadWriter},
}

// drowsyOnTwo clients hardly ask again by themselves, and want two names.
func drowsyOnTwo(r *rand.Rand, s *Schedule) {
	drowsy(r, s)
	s.Names = []string{"a", "b"}
}

// namesInTurn: a Locker hears every release of a name that it waits for, also when it waited for the name before, and
// has waited for another all the time.
func (e *env) namesInTurn() {
	holders, waiters := e.worker(0), []*worker{e.worker(1), e.worker(1)}
	kinds := []Kind{Mutex, Writer, Reentrant}
	kept := e.rng.IntN(2)
	wanted := func(i int, owner string) Want {
		w := Want{Kind: kinds[e.rng.IntN(len(kinds))], Names: e.schedule.Names[i:][:1]}
		if w.Kind == Reentrant {
			w.Owner = owner
		}
		return w
	}
	wait := func(w *worker, want Want) <-chan *holding {
		got := make(chan *holding, 1)
		go func() { got <- w.take(want, patient{most: 30 * time.Second}) }()
		return got
	}
	// release ends a hold, and checks how soon the waiter has the name.
	release := func(h *holding, w *worker, got <-chan *holding, what string) bool {
		released := e.now()
		h.sure()
		next := <-got
		// One attempt, and a look at what is in the way if it meets the release.
		if bound := 3 * w.client.Timeout; next == nil || next.from-released > bound {
			e.problem(ByLiveness, w.who, "did not get %q within %v of its release, %s", h.want.Names, bound, what)
		}
		if next != nil {
			next.sure()
		}
		return next != nil
	}

	for range 4 {
		other := 1 - kept
		long := holders.must(wanted(kept, "owner1"), 2*time.Second, "nobody holds it")
		if long == nil {
			return
		}
		longWait := wait(waiters[0], wanted(kept, "owner2"))
		for range 3 {
			h := holders.must(wanted(other, "owner1"), 2*time.Second, "nobody holds it")
			if h == nil {
				return
			}
			got := wait(waiters[1], wanted(other, "owner2"))
			holders.pause(context.Background(), 200*time.Millisecond+within(e.rng, 300*time.Millisecond))
			if !release(h, waiters[1], got, "while its client waits for another name") {
				return
			}
			holders.pause(context.Background(), 100*time.Millisecond) // meanwhile the waiter is not subscribed to it
			if long.lock.Context().Err() != nil {
				e.problem(ByLiveness, long.who, "lost %q, though all masters answer", long.want.Names)
			}
		}
		if !release(long, waiters[0], longWait, "for which its client waited while others came and went") {
			return
		}
		kept = other
	}
}

// farBounds: a writer's retry bounds are above the time for which it leaves its intent, or far below.
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

// deadWriter: a writer, or another exclusive waiter, keeps new readers out as long as it lives. After its death it
// keeps them out for no longer than the TTL of its intent, whatever its retry bounds are.
func (e *env) deadWriter() {
	first, second, writer := e.worker(0), e.worker(0), e.worker(1)
	h := first.must(e.want(Reader), 2*time.Second, "nobody holds it")
	if h == nil {
		return
	}
	wrote := make(chan *holding, 1)
	kind := []Kind{Writer, Writer, Mutex, Reentrant, Several}[e.rng.IntN(5)]
	go func() { wrote <- writer.take(e.want(kind), patient{most: time.Minute}) }()
	time.Sleep(2 * writer.client.Timeout) // its first attempt, and its look at what is in the way

	came := make(chan *holding, 1)
	go func() { came <- second.take(e.want(Reader), patient{most: time.Minute}) }()
	select {
	case early := <-came:
		e.problem(ByLiveness, second.who, "came in at %v, though a writer waits (a %s)", stamp(e.now()), kind)
		if early != nil {
			early.sure()
		}
		came <- nil
	case <-time.After(2*time.Second + within(e.rng, 3*time.Second)): // the intent is renewed several times
	}
	writer.host.Freeze()
	dead := e.now()
	e.note(writer.client.Name, "dead")
	life := writer.client.intentLife()
	bound := life + life/50 + second.client.RetryMax + 3*second.client.Timeout
	if next := <-came; next != nil {
		if next.from-dead > bound {
			e.problem(ByLiveness, second.who, "was kept out for %v by a dead writer, %v at most were expected",
				next.from-dead, bound)
		}
		next.sure()
	}

	e.thaw(writer.client.Name)
	writer.host.Thaw()
	h.sure()
	if w := <-wrote; w != nil {
		w.sure()
	} else {
		e.problem(ByLiveness, writer.who,
			"did not get %q when it lived again and the readers had gone", e.schedule.Names[0])
	}
}
