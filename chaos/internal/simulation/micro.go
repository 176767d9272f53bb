package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/simnet"
)

// A microScenario is a short env about one rule, for what a storm does not show: who gets how large a share, how soon somebody
// comes by, what is left behind for a while. Its bounds follow from what the documents promise. Everything else is judged
// as in a storm.
type microScenario struct {
	name string
	// draw settles what is special about the schedule.
	draw func(r *rand.Rand, s *Schedule)
	play func(e *env)
}

// microScenarios are counted behind the profiles: a seed draws one of either.
var microScenarios = slices.Concat(microScenariosOfWaiting, microScenariosOfTurns, microScenariosOfMasters, microScenariosOfHolding)

func microScenarioOf(s Schedule) *microScenario {
	if i := slices.IndexFunc(microScenarios, func(d microScenario) bool { return d.name == s.Profile }); i >= 0 {
		return &microScenarios[i]
	}
	return nil
}

// schedule draws the masters and two clients; draw may change all of it.
func (d microScenario) schedule(seed uint64) Schedule {
	r := rand.New(rand.NewPCG(seed, 0xd411))
	s := Schedule{Seed: seed, Profile: d.name, Masters: 3 + 2*r.IntN(2), Names: []string{"a"}, Kinds: []Kind{Mutex}}
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

// dice are what a microScenario draws from while it is played.
func (s Schedule) dice() *rand.Rand { return rand.New(rand.NewPCG(s.Seed, 0xd1ce)) }

// env is a microScenario at work.
type env struct {
	*run
	rng   *rand.Rand
	actor int
}

// worker is one more worker of a client.
func (e *env) worker(client int) *worker {
	e.actor++
	return newWorker(e.run, client, e.actor-1)
}

// want asks for a kind of lock on the first name, or on all.
func (e *env) want(kind Kind) Want {
	w := Want{Kind: kind, Names: e.schedule.Names[:1]}
	switch kind {
	case Several:
		w.Names = e.schedule.Names
	case Reentrant:
		w.Owner = "owner1"
	}
	return w
}

// must takes a lock that can be had within the bound.
func (w *worker) must(want Want, bound time.Duration, why string) *holding {
	h := w.take(want, patient{most: bound})
	if h == nil {
		w.problem(ByLiveness, w.who, "no %s of %q within %v: %s", want.Kind, want.Names, bound, why)
	}
	return h
}

// unlock ends a hold.
func (h *holding) unlock() error {
	defer h.stop()
	h.believe("unlocked")
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return h.lock.Unlock(ctx)
}

// sure unlocks where nothing stands in the way of it.
func (h *holding) sure() {
	if err := h.unlock(); err != nil {
		h.problem(ByContract, h.who, "cannot unlock %q: %v", h.want.Names, err)
	}
}

// some are n of the masters.
func (e *env) some(n int) (all []*simnet.Master) {
	for _, i := range e.rng.Perm(e.schedule.Masters)[:n] {
		all = append(all, e.world.Master(i))
	}
	return all
}

func (e *env) majority() int { return e.schedule.Masters/2 + 1 }

// left are the keys on any master that are no counters.
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

// MicroScenarios are the names of all microScenarios: the profiles of their schedules.
func MicroScenarios() (names []string) {
	for _, d := range microScenarios {
		names = append(names, d.name)
	}
	return names
}
