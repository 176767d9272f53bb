package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/internal/simnet"
)

// A microScenario is a short run that verifies one rule that a storm does not show, such as how waiters share a lock,
// how soon a waiter gets it, or what remains on a master for a while. Its bounds follow from the documents. Everything
// else is judged as in a storm.
type microScenario struct {
	name string
	// draw changes the schedule for this micro-scenario.
	draw func(r *rand.Rand, s *Schedule)
	play func(e *env)
}

// microScenarios are numbered after the profiles. A seed draws one profile or one micro-scenario.
var microScenarios = slices.Concat(
	microScenariosOfWaiting,
	microScenariosOfTurns,
	microScenariosOfMasters,
	microScenariosOfHolding,
)

func microScenarioOf(s Schedule) *microScenario {
	if i := slices.IndexFunc(microScenarios, func(d microScenario) bool { return d.name == s.Profile }); i >= 0 {
		return &microScenarios[i]
	}
	return nil
}

// schedule draws the masters and two clients; draw may change all of it.
func (d microScenario) schedule(seed uint64) Schedule {
	r := rand.New(rand.NewPCG(seed, 0xd411))
	s := Schedule{
		Seed: seed, Profile: d.name, Masters: 3 + 2*r.IntN(2), Names: []string{"a"}, Kinds: []string{kinds.Mutex},
	}
	for range s.Masters {
		s.Rates = append(s.Rates, rate(r))
	}
	ttl := between(r, span(5, 20)).Round(time.Second)
	for i := range 2 {
		s.Clients = append(s.Clients, Client{
			Name: fmt.Sprintf("client%d", i+1), TTL: ttl, Timeout: 100 * time.Millisecond, Workers: 1, Rate: rate(r),
			RetryMin: 10 * time.Millisecond, RetryMax: time.Second, Wait: 5 * ttl, Stay: ttl, Rest: time.Millisecond,
		})
	}
	d.draw(r, &s)
	s.Longest = s.MaxTTL()
	return s
}

// dice returns the source of a micro-scenario's draws while it is played.
func (s Schedule) dice() *rand.Rand { return rand.New(rand.NewPCG(s.Seed, 0xd1ce)) }

// env is the environment of a running micro-scenario.
type env struct {
	*run
	rng   *rand.Rand
	actor int
}

// worker returns a new worker of a client.
func (e *env) worker(client int) *worker {
	e.actor++
	return newWorker(e.run, client, e.actor-1)
}

// want returns a request for a kind of lock on the first name, or on all names.
func (e *env) want(kind string) locker.Request {
	w := locker.Request{Mode: kind, Names: e.schedule.Names[:1]}
	switch k := kinds.Of(kind); {
	case k.Several:
		w.Names = e.schedule.Names
	case k.Owned():
		w.Owner = "owner1"
	}
	return w
}

// must acquires a lock. If that takes longer than bound, it reports a problem and ends its goroutine: the
// micro-scenario, or what runs at the same time.
func (w *worker) must(want locker.Request, bound time.Duration, why string) *holding {
	h := w.take(want, patient{most: bound})
	if h == nil {
		w.problem(check.ByLiveness, w.who, "no %s of %q within %v: %s", want.Mode, want.Names, bound, why)
		runtime.Goexit()
	}
	return h
}

// free is must for a lock that is free.
func (w *worker) free(want locker.Request) *holding { return w.must(want, 2*time.Second, "it is free") }

// await waits for a lock in another goroutine, which sends nil if it does not get it.
func (w *worker) await(want locker.Request, most time.Duration) chan *holding {
	got := make(chan *holding, 1)
	go func() { got <- w.take(want, patient{most: most}) }()
	return got
}

// follows checks that a waiter got a lock soon after it was released, and unlocks it. If it did not get it at all, its
// goroutine ends, as in must.
func (w *worker) follows(got chan *holding, released, bound time.Duration, when string) {
	next := <-got
	if next == nil || next.from-released > bound {
		w.problem(check.ByLiveness, w.who, "did not get a lock within %v of its release at %v, %s: %v",
			bound, stamp(released), when, next != nil)
	}
	if next == nil {
		runtime.Goexit()
	}
	next.sure()
}

// another opens a second Locker for the worker's client.
func (w *worker) another() Locker {
	l, err := w.open(w.world, w.host, w.schedule, w.client)
	if err != nil {
		w.problem(check.ByHarness, w.who, "cannot open another locker: %v", err)
		runtime.Goexit()
	}
	return l
}

// unlock ends a hold.
func (h *holding) unlock() error {
	h.attempt.Over()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return h.attempt.Unlock(ctx)
}

// sure unlocks the lock. It reports a problem if that fails.
func (h *holding) sure() {
	if err := h.unlock(); err != nil {
		h.problem(ByContract, h.who, "cannot unlock %q: %v", h.want.Names, err)
	}
}

// some returns n random masters.
func (e *env) some(n int) (all []*simnet.Master) {
	for _, i := range e.rng.Perm(e.schedule.Masters)[:n] {
		all = append(all, e.world.Master(i))
	}
	return all
}

func (e *env) majority() int { return e.schedule.Masters/2 + 1 }

// left returns the keys on all masters, without counters.
func (e *env) left() (all []string) {
	for i, m := range e.world.Masters() {
		for _, key := range m.Keys() {
			if !isCounter(key) {
				all = append(all, fmt.Sprintf("%q on master %d for %v", key, i, m.TTL(key)))
			}
		}
	}
	return all
}

// each does something to each of some masters.
func each(masters []*simnet.Master, do func(*simnet.Master)) {
	for _, m := range masters {
		do(m)
	}
}

// together runs all, and returns when they have ended.
func together(all ...func()) {
	var group sync.WaitGroup
	for _, f := range all {
		group.Go(f)
	}
	group.Wait()
}

func causeIs(ctx context.Context, target error) bool { return errors.Is(context.Cause(ctx), target) }

// MicroScenarios returns the names of all micro-scenarios, which are the profiles of their schedules.
func MicroScenarios() (names []string) {
	for _, d := range microScenarios {
		names = append(names, d.name)
	}
	return names
}
