package simulation

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/internal/simnet"
)

// tidy is how long after the end of all traffic keys may remain on the masters.
const tidy = 2 * time.Second

// rest waits until the workers of the present lives have ended.
func (r *run) rest() bool {
	var all sync.WaitGroup
	for _, l := range r.lives {
		all.Go(l.workers.Wait)
	}
	return r.await("workers", &all, r.schedule.MaxTTL()+r.schedule.Window()+10*time.Second)
}

// await waits for g. It reports a problem if that takes longer than most.
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
		r.problem(check.ByLiveness, who, "stuck for %v", most)
		return false
	}
}

// residue checks that no master has keys that do not expire by themselves. Counters of fencing tokens may remain, and
// so may intents that could not be withdrawn. No subscription may remain.
func (r *run) residue(when string) {
	time.Sleep(tidy)
	if r.schedule.returns() { // restored keys expire by themselves
		time.Sleep(r.schedule.MaxTTL() + r.schedule.MaxTTL()/100)
	}
	if r.schedule.Proxies || !r.schedule.plansNone(LossyPath) { // what a fault held up may arrive this late
		time.Sleep(r.schedule.Storm + time.Second)
	}
	for i, m := range r.world.Masters() {
		for _, key := range m.Keys() {
			left := m.TTL(key)
			switch {
			case strings.HasPrefix(key, check.Counters):
				if left <= 0 {
					r.problem(check.ByResidue, m.Addr(), "counter %q on master %d has no end", key, i)
				}
			case strings.HasPrefix(key, intents) && !r.schedule.quiet() && left <= r.schedule.intentLife()*101/100:
				// A key that had expired, and was not released for that reason, exists again when the clock is set
				// back.
			case r.schedule.jumps() && left > 0:
			case r.schedule.ghostsAt(i) && left > 0:
			default:
				r.problem(check.ByResidue, m.Addr(), "key %q = %q left on master %d %s, for %v more",
					key, content(m, key), i, when, left)
			}
		}
		if channels := m.Redis().PubSubChannels(""); len(channels) > 0 && !r.schedule.ghostsAt(i) {
			r.problem(check.ByResidue, m.Addr(), "subscriptions %q left on master %d %s", channels, i, when)
		}
	}
}

// content returns what a key holds: a mutex's token, or the entries of another kind.
func content(m *simnet.Master, key string) []string {
	if entries, err := m.Redis().ZMembers(key); err == nil {
		return entries
	}
	return []string{m.Get(key)}
}

// bound is how long a client may wait for a lock after the storm.
func (s Schedule) bound() time.Duration { return s.Window() + s.MaxTTL() + 10*time.Second }

// liveness has every client acquire what its groups acquire, and every kind of lock, all clients at the same time.
func (r *run) liveness() {
	bound := r.schedule.bound()
	names := r.schedule.Names
	r.phase(history.Calm)
	var all sync.WaitGroup
	for i, l := range r.lives {
		all.Go(func() {
			l.traffic.Round(bound)
			who := l.settings.Name
			for n, kind := range kinds.Names() {
				want := kinds.Request{Mode: kind, Names: names[(n+i)%len(names):][:1]}
				want.Fencing = (n+i)%2 == 0 || r.schedule.fenced(kind)
				switch k := kinds.Of(kind); {
				case k.Several:
					want.Names = names
				case k.Owned():
					want.Owner = who
				case k.Slotted():
					want.Slots = slots
				case k.Elected():
					want.Fencing = true
				}
				r.works(who, l.locker, want, bound)
			}
		})
	}
	r.await("liveness", &all, time.Duration(5+len(names))*bound+patience)
}

// works checks that a lock can be acquired and released.
func (r *run) works(who string, l kinds.Locker, want kinds.Request, bound time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	lock, err := l.Lock(ctx, want)
	if err != nil || lock == nil {
		r.problem(check.ByLiveness, who, "cannot take a %s of %q %v after all was well: %v",
			want.Mode, want.Names, bound, err)
		return
	}
	if err := lock.Unlock(ctx); err != nil {
		r.problem(ByContract, who, "cannot unlock a %s of %q though all is well: %v", want.Mode, want.Names, err)
	}
}

// close closes all lockers, and checks that they return in time and leave no connection.
func (r *run) close() {
	var all sync.WaitGroup
	for _, l := range r.lives {
		all.Go(func() {
			start := r.now()
			if err := l.locker.Close(); err != nil {
				r.problem(ByContract, l.settings.Name, "Close: %v", err)
			}
			if took := r.now() - start; took > patience {
				r.problem(check.ByLiveness, l.settings.Name, "Close took %v", took)
			}
		})
	}
	if r.await("close", &all, time.Minute) {
		time.Sleep(tidy)
		for i, m := range r.world.Masters() {
			if n := m.Conns(); n > 0 {
				r.problem(check.ByResidue, "close", "%d connections left to master %d", n, i)
			}
		}
	}
}
