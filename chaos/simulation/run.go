// Package simulation runs the real lock, through the real client and the real scripts, against simulated masters in
// virtual time, under a schedule of faults drawn from a seed, and judges what came of it: never two holders at once, no
// loss told late, nothing left behind, and everybody locks again once the weather is fine.
//
//	go test ./chaos/simulation                                             some schedules, from a random seed on
//	go test ./chaos/simulation -run TestSchedules -schedules=5000 -seed=1
//
// A seed fixes the schedule: masters, clients, clocks, faults, and what the workers mean to do. It does not fix the
// order in which goroutines run that are ready at the same instant, nor what the lock draws for itself (tokens,
// jitter); so a rare violation may take several runs of its seed to show again.
package simulation

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/simnet"
)

// Open makes the Locker of a client.
type Open func(w *simnet.Net, h *simnet.Host, s Schedule, c Client) (Locker, error)

const (
	// cost is what one command takes a master.
	cost = 20 * time.Microsecond
	// patience is how long, beyond its context or its masters' deadlines, a call may take before it counts as stuck.
	patience = 3 * time.Second
	// tidy is how soon after the end nothing may be left on any master.
	tidy = 2 * time.Second
)

// run is one schedule at work.
type run struct {
	*history
	schedule Schedule
	world    *simnet.Net
	hosts    []*simnet.Host
	lockers  []Locker
	over     chan struct{} // closed when the storm is over
}

// Run runs s within the bubble that it is called from.
func Run(t simnet.TB, s Schedule, open Open) *Result {
	t.Helper()
	r := &run{history: newHistory(), schedule: s, world: simnet.New(t, s.Seed, s.Masters), over: make(chan struct{})}
	r.world.Watch(r.command)
	r.world.Cost(cost)
	for i, rate := range s.Rates {
		r.world.Master(i).Rate(rate)
	}
	for _, c := range s.Clients {
		h := r.world.Host(c.Name)
		h.Clock().Rate(c.Rate)
		h.Clock().Ahead(c.Skew)
		l, err := open(r.world, h, s, c)
		if err != nil {
			r.problem(c.Name, "cannot open its locker: %v", err)
			return r.result(s)
		}
		r.hosts, r.lockers = append(r.hosts, h), append(r.lockers, l)
	}

	var workers sync.WaitGroup
	for i := range s.Clients {
		for n := range s.Clients[i].Workers {
			workers.Go(newWorker(r, i, n).work)
		}
	}
	fine := r.weather()
	close(r.over)
	for _, h := range r.hosts {
		if h.Frozen() {
			r.thaw(h.Name())
		}
	}
	r.world.Heal()
	if !fine { // nobody could wait for the end: a simulated hour would take real ones
		for _, m := range r.world.Masters() {
			m.Crash()
		}
	}
	r.note("weather", "all is well again")
	if r.await("workers", &workers, s.MaxTTL()+s.Window+10*time.Second) && fine {
		r.residue("after the storm")
		r.liveness()
		r.residue("at the end")
	}
	r.close()
	return r.result(s)
}

// weather lets the faults happen, until the storm is over. It reports false if it broke off.
func (r *run) weather() bool {
	type turn struct {
		at time.Duration
		do func()
	}
	var turns []turn
	for _, f := range r.schedule.Faults {
		turns = append(turns, turn{f.At, func() {
			r.note(f.where(), "%v", f)
			f.begin(r.world, r.hosts)
		}})
		if f.Until > f.At {
			turns = append(turns, turn{f.Until, func() {
				if f.Client >= 0 && f.Kind == Freeze {
					r.thaw(f.where())
				}
				f.end(r.world, r.hosts)
				r.note(f.where(), "no longer %v", f)
			}})
		}
	}
	sortBy(turns, func(t turn) time.Duration { return t.at })
	for _, t := range turns {
		if t.at > r.schedule.Storm {
			break
		}
		if !r.sleep(t.at) {
			return false
		}
		t.do()
	}
	return r.sleep(r.schedule.Storm)
}

// sleep waits until then. It reports false if the run is not worth going on with.
func (r *run) sleep(then time.Duration) bool {
	select {
	case <-time.After(then - r.now()):
		return true
	case <-r.hectic:
		return false
	}
}

// await waits for g, and reports who is stuck.
func (r *run) await(who string, g *sync.WaitGroup, most time.Duration) bool {
	done := make(chan struct{})
	go func() {
		g.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(most):
		r.problem(who, "stuck for %v", most)
		return false
	}
}

// residue checks that nothing is left on any master but what ends by itself: counters of fencing tokens, and intents of
// waiting writers that could not be taken back.
func (r *run) residue(when string) {
	time.Sleep(tidy)
	for i, m := range r.world.Masters() {
		for _, key := range m.Keys() {
			left := m.TTL(key)
			switch {
			case strings.HasPrefix(key, counters):
				if left <= 0 {
					r.problem(m.Addr(), "counter %q on master %d has no end", key, i)
				}
			case strings.HasPrefix(key, intents) && !r.schedule.quiet() && left <= r.schedule.intentLife()*101/100:
			default:
				r.problem(m.Addr(), "key %q = %q left on master %d %s, for %v more", key, content(m, key), i, when, left)
			}
		}
		if channels := m.Redis().PubSubChannels(""); len(channels) > 0 {
			r.problem(m.Addr(), "subscriptions %q left on master %d %s", channels, i, when)
		}
	}
}

// content is what a key holds: a mutex's token, or the entries of another kind.
func content(m *simnet.Master, key string) []string {
	if entries, err := m.Redis().ZMembers(key); err == nil {
		return entries
	}
	return []string{m.Get(key)}
}

// liveness has every client take every kind of lock, all at once.
func (r *run) liveness() {
	bound := r.schedule.Window + r.schedule.MaxTTL() + 10*time.Second
	names := r.schedule.Names
	var all sync.WaitGroup
	for i, l := range r.lockers {
		all.Go(func() {
			who := r.schedule.Clients[i].Name
			for n, kind := range []Kind{Mutex, Writer, Reader, Reentrant, Several} {
				want := Want{Kind: kind, Names: names[(n+i)%len(names):][:1], Fencing: (n+i)%2 == 0}
				switch kind {
				case Several:
					want.Names = names
				case Reentrant:
					want.Owner = who
				}
				r.works(who, l, want, bound)
			}
		})
	}
	r.await("liveness", &all, 5*bound+patience)
}

// works checks that a lock can be taken and given back.
func (r *run) works(who string, l Locker, want Want, bound time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	lock, err := l.Lock(ctx, want)
	if err != nil || lock == nil {
		r.problem(who, "cannot take a %s of %q %v after all was well: %v", want.Kind, want.Names, bound, err)
		return
	}
	if err := lock.Unlock(ctx); err != nil {
		r.problem(who, "cannot unlock a %s of %q though all is well: %v", want.Kind, want.Names, err)
	}
}

// close closes all lockers, and checks that they let go of everything.
func (r *run) close() {
	var all sync.WaitGroup
	for i, l := range r.lockers {
		all.Go(func() {
			start := r.now()
			if err := l.Close(); err != nil {
				r.problem(r.schedule.Clients[i].Name, "Close: %v", err)
			}
			if took := r.now() - start; took > patience {
				r.problem(r.schedule.Clients[i].Name, "Close took %v", took)
			}
		})
	}
	if r.await("close", &all, time.Minute) {
		time.Sleep(tidy)
		for i, m := range r.world.Masters() {
			if n := m.Conns(); n > 0 {
				r.problem("close", "%d connections left to master %d", n, i)
			}
		}
	}
}
