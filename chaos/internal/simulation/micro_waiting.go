package simulation

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/internal/simnet"
)

// microScenariosOfWaiting verify which waiter gets a lock, and how soon.
var microScenariosOfWaiting = []microScenario{
	{name: "shares", draw: rivals, play: (*env).shares},
	{name: "readers without a gap", draw: readers, play: (*env).writerBetween},
	{name: "news of a release", draw: drowsy, play: (*env).news},
}

// rivals gives each client one to three workers. They ask for one name again as soon as they have released it.
func rivals(r *rand.Rand, s *Schedule) {
	for i := range s.Clients {
		s.Clients[i].Workers = 1 + r.IntN(3)
	}
	s.Storm = 3 * time.Second
}

// cohort is the holds that one process takes in succession under one token.
type cohort struct {
	client     int
	first      time.Duration // when its first hold began
	last, over time.Duration // when its last hold began, and when it ended
}

// cohorts are the cohorts of a micro-scenario.
type cohorts struct {
	mu      sync.Mutex
	byToken map[string]*cohort
}

// add records a hold that has been unlocked.
func (cs *cohorts) add(client int, h *holding, token string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.byToken[token]
	if c == nil {
		c = &cohort{client: client, first: h.from}
		cs.byToken[token] = c
	}
	c.first = min(c.first, h.from)
	c.last, c.over = max(c.last, h.from), max(c.over, h.now())
}

// sorted returns the cohorts in the order in which they began.
func (cs *cohorts) sorted() []*cohort {
	var all []*cohort
	for _, c := range cs.byToken {
		all = append(all, c)
	}
	sortBy(all, func(c *cohort) time.Duration { return c.first })
	return all
}

// shares checks that a process that releases a name leaves it to waiters of other processes, so that each gets its
// turn. Hand-over within a process ends in time (see redlock.WithoutHandOver).
func (e *env) shares() {
	way := between(e.rng, [2]time.Duration{time.Millisecond, 3 * time.Millisecond})
	trip := 2 * way
	each(e.world.Masters(), func(m *simnet.Master) { m.Delay(way, 0) })
	seen := &cohorts{byToken: make(map[string]*cohort)}
	var all []func()
	for client, c := range e.schedule.Clients {
		e.worker(client).free(locker.Request{Mode: kinds.Mutex, Names: []string{"connect"}}).sure()
		for range c.Workers {
			w := e.worker(client)
			all = append(all, func() { w.grab(e, seen, client) })
		}
	}
	together(all...)

	ttl := e.schedule.MaxTTL()
	// The budget of a cohort is 4 times what the acquire took. That is at most 4 round trips: one for the first node
	// and one for the others, each behind a request in flight on its connection.
	slice := min(ttl/8, max(50*time.Millisecond, 4*4*trip))
	shares := make([]int, len(e.schedule.Clients))
	cohorts := seen.sorted()
	for i, c := range cohorts {
		if c.last-c.first > slice+trip {
			e.problem(check.ByLiveness, e.schedule.Clients[c.client].Name,
				"kept %q for %v by handing it over, while others waited; %v at most were expected",
				e.schedule.Names[0], c.last-c.first, slice+trip)
		}
		next := c.over
		if i+1 < len(cohorts) {
			next = cohorts[i+1].first
		}
		shares[c.client] += int((next - c.first) / time.Millisecond)
	}
	e.fair(kinds.Mutex, shares, "ms")
	e.fair(kinds.Reentrant, e.owners(), "holds")
}

// fair checks that each of two clients got its turn, though both always wanted the name. A process that passes the name
// among its callers leaves it to the other process for as long, in which that one may have it several times: so a mutex
// is shared by time.
func (e *env) fair(kind string, shares []int, unit string) {
	for client, n := range shares {
		if all := shares[0] + shares[1]; n < all/8 {
			e.problem(check.ByLiveness, e.schedule.Clients[client].Name,
				"had the %v %q for %d of %d %s, less than a quarter of its share, though it always wanted it",
				kind, e.schedule.Names[0], n, all, unit)
		}
	}
}

// owners has an owner of each client acquire the name repeatedly. It returns how often each owner held it.
func (e *env) owners() []int {
	shares := make([]int, len(e.schedule.Clients))
	until := e.now() + time.Second
	var all []func()
	for client := range shares {
		w := e.worker(client)
		want := e.want(kinds.Reentrant)
		want.Owner = e.schedule.Clients[client].Name
		all = append(all, func() {
			for w.now() < until {
				h := w.must(want, time.Minute, "every hold is short")
				w.pause(context.Background(), within(w.rng, 2*time.Millisecond))
				h.sure()
				shares[client]++
			}
		})
	}
	together(all...)
	return shares
}

// grab acquires the name repeatedly and holds it for a moment.
func (w *worker) grab(e *env, seen *cohorts, client int) {
	for w.now() < e.schedule.Storm {
		h := w.must(e.want(kinds.Mutex), time.Minute, "every hold is short")
		w.pause(context.Background(), within(w.rng, 2*time.Millisecond))
		token := h.lock.Token()
		h.sure()
		seen.add(client, h, token)
	}
}

// readers gives each client three workers. Those of the first two clients hold the name as readers, so that it is never
// free; the third client writes.
func readers(r *rand.Rand, s *Schedule) {
	s.Clients = append(s.Clients, s.Clients[1])
	s.Clients[2].Name = "client3"
	long := r.IntN(2) == 0
	for i := range s.Clients {
		c := &s.Clients[i]
		c.Workers, c.Keepalive = 3, r.IntN(2) == 0
		c.Stay = between(r, [2]time.Duration{200 * time.Millisecond, 400 * time.Millisecond})
		if long {
			c.Stay += 2 * time.Second // so long that the writer renews its intent
		}
		c.RetryMin, c.RetryMax = 2*time.Second, 4*time.Second // so that no client gets the lock by asking often
	}
}

// writerBetween checks that a waiting writer keeps new readers out, so that it gets the lock when the present readers
// have gone.
func (e *env) writerBetween() {
	var all []func()
	over := make(chan struct{})
	var most time.Duration
	for client, c := range e.schedule.Clients[:2] {
		most = max(most, c.Stay)
		for n := range c.Workers {
			w := e.worker(client)
			all = append(all, func() {
				w.pause(context.Background(), time.Duration(n)*c.Stay/3+time.Duration(client)*c.Stay/6)
				for {
					select {
					case <-over:
						return
					default:
					}
					h := w.must(e.want(kinds.Reader), time.Minute, "no writer holds it for long")
					w.pause(context.Background(), c.Stay)
					h.sure()
				}
			})
		}
	}
	all = append(all, func() {
		defer close(over)
		w := e.worker(2)
		// The first attempt, the probe that leaves the intent, and the attempt when the last reader has gone.
		bound := most + 3*w.client.Timeout
		for range 3 {
			w.pause(context.Background(), 2*most)
			h := w.must(e.want(kinds.Writer), bound, "it waits for the readers that are in, and keeps others out")
			h.sure()
		}
	})
	together(all...)
}

// drowsy gives clients long retry bounds, so that they depend on release messages.
func drowsy(_ *rand.Rand, s *Schedule) {
	for i := range s.Clients {
		s.Clients[i].RetryMin, s.Clients[i].RetryMax = 2*time.Second, 4*time.Second
	}
}

// trouble lists what may happen to one master while a lock is released.
var trouble = []struct {
	what       string
	begin, end func(m *simnet.Master, name string)
}{
	{"no trouble", func(*simnet.Master, string) {}, func(*simnet.Master, string) {}},
	{
		"a stale key",
		func(m *simnet.Master, name string) { m.Set(name, "somebody", time.Hour) },
		func(m *simnet.Master, name string) { m.Redis().Del(name) },
	},
	{"a frozen master", func(m *simnet.Master, _ string) { m.Freeze() }, func(m *simnet.Master, _ string) { m.Thaw() }},
	{"a dead master", func(m *simnet.Master, _ string) { m.Stop() }, func(m *simnet.Master, _ string) { m.Start() }},
	{
		"a master in a black hole",
		func(m *simnet.Master, _ string) { m.BlackHole() },
		func(m *simnet.Master, _ string) { m.Link.Heal() },
	},
}

// news checks that a waiter learns of a release from a majority and gets the lock without waiting for its own next
// attempt, whichever master is in trouble. It may be the first node.
func (e *env) news() {
	holder, waiter := e.worker(0), e.worker(1)
	modes := []string{kinds.Mutex, kinds.Writer, kinds.Reentrant}
	for _, m := range e.world.Masters() {
		for _, tr := range trouble {
			want := e.want(modes[e.rng.IntN(len(modes))])
			h := holder.free(want)
			if want.Owner = ""; want.Mode == kinds.Reentrant {
				want.Owner = "owner2"
			}
			got := waiter.await(want, 30*time.Second)
			time.Sleep(within(e.rng, time.Second) + 100*time.Millisecond)
			e.note("fault", "%s, master %d", tr.what, m.Index())
			tr.begin(m, want.Names[0])
			time.Sleep(within(e.rng, 100*time.Millisecond))
			released := e.now()
			h.sure()
			// A silent first node, one probe of a blocker that is a stale key, and the attempt itself.
			waiter.follows(got, released, 3*waiter.client.Timeout, "with "+tr.what)
			tr.end(m, want.Names[0])
			time.Sleep(e.schedule.Window() + 2*time.Second) // a restarted server may vote again
		}
	}
	e.newsDuringProbes()
	e.turnsOfQuitters()
	e.silentReleases()
}
