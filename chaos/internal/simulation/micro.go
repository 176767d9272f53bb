package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	s.Window = s.MaxTTL() + s.MaxTTL()/100 + 2*time.Millisecond
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

// must acquires a lock. It reports a problem if that takes longer than bound.
func (w *worker) must(want locker.Request, bound time.Duration, why string) *holding {
	h := w.take(want, patient{most: bound})
	if h == nil {
		w.problem(check.ByLiveness, w.who, "no %s of %q within %v: %s", want.Mode, want.Names, bound, why)
	}
	return h
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
