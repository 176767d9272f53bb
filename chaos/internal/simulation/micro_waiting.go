package simulation

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/simnet"
)

// microScenariosOfWaiting are about who gets a lock that several want, and how soon.
var microScenariosOfWaiting = []microScenario{
	{name: "shares", draw: rivals, play: (*env).shares},
	{name: "readers without a gap", draw: readers, play: (*env).writerBetween},
	{name: "news of a release", draw: drowsy, play: (*env).news},
}

// rivals ask for one name again as soon as they have released it, a few milliseconds from the masters.
func rivals(r *rand.Rand, s *Schedule) {
	for i := range s.Clients {
		s.Clients[i].Workers = 1 + r.IntN(3)
	}
	way := between(r, [2]time.Duration{time.Millisecond, 3 * time.Millisecond})
	for m := range s.Masters {
		s.Faults = append(s.Faults, Fault{Kind: Delay, Master: m, Client: -1, Delay: way, Until: s.Storm})
	}
	s.Storm = 3 * time.Second
}

// tenure is what one process had from the masters at once, through however many holders: it has one token.
type tenure struct {
	client     int
	first      time.Duration // when its first holder had it
	last, over time.Duration // when its last one had it, and unlocked it
	shown      bool          // a holder asked for the token
}

// tenures are those of a microScenario, by token.
type tenures struct {
	mu  sync.Mutex
	all map[string]*tenure
}

// add notes a hold that has been unlocked, and whether its token had been shown before to somebody who does not have it
// now.
func (ts *tenures) add(client int, h *holding, token string, shown bool) (foreign bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.all[token]
	if t == nil {
		t = &tenure{client: client, first: h.from}
		ts.all[token] = t
	}
	t.first = min(t.first, h.from)
	t.last, t.over = max(t.last, h.from), max(t.over, h.now())
	foreign = t.shown
	t.shown = t.shown || shown
	return foreign
}

// sorted are the tenures in the order in which they began.
func (ts *tenures) sorted() []*tenure {
	var all []*tenure
	for _, t := range ts.all {
		all = append(all, t)
	}
	sortBy(all, func(t *tenure) time.Duration { return t.first })
	return all
}

// shares: a process that releases a name leaves it to those who wait elsewhere, so that each gets its turn; what it
// hands over within itself has an end (see redlock.WithoutHandOver), and is never a lock whose token was asked for.
func (e *env) shares() {
	var trip time.Duration
	for _, f := range e.schedule.Faults {
		f.inject(e.run)
		trip = max(trip, 2*f.Delay)
	}
	had := &tenures{all: make(map[string]*tenure)}
	var all []func()
	for client, c := range e.schedule.Clients {
		for range c.Workers {
			w := e.worker(client)
			all = append(all, func() { w.grab(e, had, client) })
		}
	}
	together(all...)

	ttl := e.schedule.MaxTTL()
	// 4 times what the masters took: a scout and then the others, each behind what was on its way over the connection.
	slice := min(ttl/8, max(50*time.Millisecond, 4*4*trip))
	shares := make([]int, len(e.schedule.Clients))
	for _, t := range had.sorted() {
		if t.last-t.first > slice+trip {
			e.problem(ByLiveness, e.schedule.Clients[t.client].Name,
				"kept %q for %v by handing it over, while others waited; %v at most were expected",
				e.schedule.Names[0], t.last-t.first, slice+trip)
		}
		shares[t.client]++
	}
	e.fair(Mutex, shares)
	e.fair(Reentrant, e.owners())
}

// fair: each of two clients had its turn, though both always wanted the name.
func (e *env) fair(kind Kind, shares []int) {
	for client, n := range shares {
		if all := shares[0] + shares[1]; n < all/8 {
			e.problem(ByLiveness, e.schedule.Clients[client].Name,
				"had the %v %q %d times of %d, less than a quarter of its share, though it always wanted it",
				kind, e.schedule.Names[0], n, all)
		}
	}
}

// owners has an owner of each client take the name again and again, and returns how often each had it.
func (e *env) owners() []int {
	shares := make([]int, len(e.schedule.Clients))
	until := e.now() + time.Second
	var all []func()
	for client := range shares {
		w := e.worker(client)
		want := e.want(Reentrant)
		want.Owner = e.schedule.Clients[client].Name
		all = append(all, func() {
			for w.now() < until {
				h := w.must(want, time.Minute, "nobody holds it for long")
				if h == nil {
					return
				}
				w.pause(context.Background(), within(w.rng, 2*time.Millisecond))
				h.sure()
				shares[client]++
			}
		})
	}
	together(all...)
	return shares
}

// grab takes the name again and again, and holds it for a moment.
func (w *worker) grab(e *env, had *tenures, client int) {
	for w.now() < e.schedule.Storm {
		h := w.must(e.want(Mutex), time.Minute, "nobody holds it for long")
		if h == nil {
			return
		}
		shown := w.rng.IntN(8) == 0
		if shown {
			h.lock.Token()
		}
		w.pause(context.Background(), within(w.rng, 2*time.Millisecond))
		token := e.leaseToken(e.schedule.Names[0]) // Lock.Token would keep the lock from being handed over
		h.sure()
		if had.add(client, h, token, shown) {
			w.problem(ByContract, w.who, "got a lock whose token an earlier holder had asked for")
		}
	}
}

// leaseToken is the token that most of the masters hold a mutex with.
func (e *env) leaseToken(name string) (token string) {
	votes := make(map[string]int)
	for _, m := range e.world.Masters() {
		held := m.Get(name)
		if votes[held]++; votes[held] > votes[token] {
			token = held
		}
	}
	return token
}

// readers hold a name for a while; three of each of two clients, so that it is never free of them. The third client
// writes.
func readers(r *rand.Rand, s *Schedule) {
	s.Clients = append(s.Clients, s.Clients[1])
	s.Clients[2].Name = "client3"
	long := r.IntN(2) == 0
	for i := range s.Clients {
		c := &s.Clients[i]
		c.Workers, c.Keepalive = 3, r.IntN(2) == 0
		c.Stay = between(r, [2]time.Duration{200 * time.Millisecond, 400 * time.Millisecond})
		if long {
			c.Stay += 2 * time.Second // the writer renews its intent meanwhile
		}
		c.RetryMin, c.RetryMax = 2*time.Second, 4*time.Second // nobody comes by for asking often
	}
}

// writerBetween: a waiting writer keeps new readers out, so that it gets the lock when those have gone that are in.
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
					if h := w.must(e.want(Reader), time.Minute, "no writer holds it for long"); h != nil {
						w.pause(context.Background(), c.Stay)
						h.sure()
					}
				}
			})
		}
	}
	all = append(all, func() {
		defer close(over)
		w := e.worker(2)
		// The first attempt, the look that leaves the intent, and the attempt when the last reader has gone.
		bound := most + 3*w.client.Timeout
		for range 3 {
			w.pause(context.Background(), 2*most)
			h := w.must(e.want(Writer), bound, "it waits for the readers that are in, and keeps others out")
			if h == nil {
				return
			}
			h.sure()
		}
	})
	together(all...)
}

// drowsy clients hardly ask again by themselves.
func drowsy(_ *rand.Rand, s *Schedule) {
	for i := range s.Clients {
		s.Clients[i].RetryMin, s.Clients[i].RetryMax = 2*time.Second, 4*time.Second
	}
}

// trouble is what may befall one master, whichever, while a lock is released.
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

// news: who waits hears of a release from a majority, and has the lock without waiting for its own next attempt,
// whichever one master is in trouble: also the one that contenders ask first.
func (e *env) news() {
	holder, waiter := e.worker(0), e.worker(1)
	kinds := []Kind{Mutex, Writer, Reentrant}
	for _, m := range e.world.Masters() {
		for _, tr := range trouble {
			want := e.want(kinds[e.rng.IntN(len(kinds))])
			h := holder.must(want, 2*time.Second, "nobody holds it")
			if h == nil {
				return
			}
			if want.Owner = ""; want.Kind == Reentrant {
				want.Owner = "owner2"
			}
			got := make(chan *holding)
			go func() { got <- waiter.take(want, patient{most: 30 * time.Second}) }()
			time.Sleep(within(e.rng, time.Second) + 100*time.Millisecond)
			e.note("fault", "%s, master %d", tr.what, m.Index())
			tr.begin(m, want.Names[0])
			time.Sleep(within(e.rng, 100*time.Millisecond))
			released := e.now()
			h.sure()
			next := <-got
			// A scout that is silent, one look at what is in the way of a stale one, and the attempt itself.
			bound := 3 * waiter.client.Timeout
			switch {
			case next == nil:
				e.problem(ByLiveness, waiter.who, "did not get %q though it was released, with %s (%d)",
					want.Names[0], tr.what, m.Index())
			case next.from-released > bound:
				e.problem(ByLiveness, waiter.who, "got %q %v after it was released, %v at most were expected, with %s (%d)",
					want.Names[0], next.from-released, bound, tr.what, m.Index())
			}
			if next != nil {
				next.sure()
			}
			tr.end(m, want.Names[0])
			time.Sleep(e.schedule.Window + 2*time.Second) // what restarted may vote again
		}
	}
}
