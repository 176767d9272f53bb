package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/internal/simnet"
)

// microScenariosOfMasters verify what happens when masters lose their data or refuse requests.
var microScenariosOfMasters = []microScenario{
	{name: "majority lost", draw: keepers, play: (*env).majorityLost},
	{name: "counters lost under a lock", draw: aheadOfTime, play: (*env).countersLost},
	{name: "young masters", draw: shortLived, play: (*env).youngMasters},
	{name: "refused releases", draw: nothing, play: (*env).refusedReleases},
	{name: "restored key", draw: threeMasters, play: (*env).restoredKey},
}

func nothing(*rand.Rand, *Schedule) {}

func keepers(r *rand.Rand, s *Schedule) {
	s.Names = []string{"a", "b"}
	for i := range s.Clients {
		s.Clients[i].Keepalive = r.IntN(2) == 0
	}
}

// majorityLost checks that the next extension reports the loss of a lock that a majority has forgotten. Its remaining
// keys linger until its holder calls Unlock or its Until comes. After that no key remains on any master: neither on the
// minority, nor where the extension has restored it.
func (e *env) majorityLost() {
	w := e.worker(0)
	apart := rand.New(rand.NewPCG(e.schedule.Seed, 0x756e6c6b)) // so that a seed keeps its other draws
	for _, kind := range []string{kinds.Mutex, kinds.Reader, kinds.Writer, kinds.Reentrant, kinds.Several} {
		h := w.must(e.want(kind), e.schedule.Window()+5*time.Second, "it is free")
		restart := e.rng.IntN(2) == 0
		time.Sleep(within(e.rng, time.Second))
		for _, m := range e.some(e.majority()) {
			if restart {
				m.Restart()
			} else {
				m.Wipe()
			}
		}
		kept := e.left() // what the minority still has
		lost := e.now()
		bound := 2 * w.client.Timeout // one extension that finds its connections broken, and another
		if w.client.Keepalive {
			// Keepalive extends every third of the TTL, a tenth sooner or later; after a failure it retries in a
			// quarter of that.
			bound += w.client.TTL * (11 + 3) / 30
			w.pause(h.lock.Context(), w.client.TTL)
		} else {
			h.extend()
			h.extend()
		}
		if told := e.now() - lost; told > bound || !causeIs(h.lock.Context(), redlock.ErrLost) {
			e.problem(check.ByLossNotified, w.who,
				"a majority forgot %v of %q, and after %v (of %v at most) its context says: %v",
				kind, h.want.Names, told, bound, context.Cause(h.lock.Context()))
		}
		if apart.IntN(2) == 0 {
			time.Sleep(h.until() - e.now() - time.Millisecond)
			if len(kept) > 0 && len(e.left()) == 0 {
				e.problem(check.ByExclusion, w.who, "the %v is lost, and nothing is left of it before its Until: %v", kind, kept)
			}
			h.attempt.Over()
			time.Sleep(h.until() - e.now())
		} else if err := h.unlock(); !errors.Is(err, redlock.ErrLost) {
			e.problem(check.ByLossNotified, w.who, "Unlock of a lost %v says: %v", kind, err)
		}
		time.Sleep(2 * w.client.Timeout) // for the release
		for _, key := range e.left() {
			e.problem(check.ByResidue, w.who, "the %v is lost, and told so, and there is still %s", kind, key)
		}
	}
}

// aheadOfTime sets the first client's time of day hours ahead.
func aheadOfTime(r *rand.Rand, s *Schedule) {
	s.Names = []string{"a", "b"}
	s.Clients[0].Skew = between(r, [2]time.Duration{time.Hour, 3 * time.Hour})
	s.Clients[0].Keepalive = r.IntN(2) == 0
}

// countersLost checks that an extension restores the fence counter where it is lost, so that the next token is larger,
// although the next client's time of day is hours behind.
func (e *env) countersLost() {
	ahead, next := e.worker(0), e.worker(1)
	for _, kind := range []string{kinds.Mutex, kinds.Writer, kinds.Reentrant, kinds.Several} {
		want := e.want(kind)
		want.Fencing = true
		h := ahead.free(want)
		lost := e.majority() + e.rng.IntN(e.schedule.Masters-e.majority()+1)
		each(e.some(lost), func(m *simnet.Master) { m.Evict(counters) })
		if ahead.client.Keepalive {
			time.Sleep(ahead.client.TTL / 2)
		} else {
			h.extend()
		}
		time.Sleep(ahead.client.Timeout) // so that all masters have it, not just a majority
		h.sure()
		if want.Owner != "" {
			want.Owner = "owner2"
		}
		next.free(want).sure()
	}
	next.countersOlder()
	next.raisedTwice()
	e.permitsAtOnce(ahead, next)
}

// countersOlder has masters come back with an older state: they have the count of the last writer but one.
func (w *worker) countersOlder() {
	want := locker.Request{Mode: kinds.Writer, Names: []string{"older"}, Fencing: true}
	images := make([]simnet.Image, w.schedule.Masters)
	take := func(bound time.Duration) {
		w.must(want, bound, "it is free").sure()
		time.Sleep(w.client.Timeout) // so that all masters have counted it
	}
	take(2 * time.Second)
	for i, m := range w.world.Masters() {
		images[i] = m.Image()
	}
	take(2 * time.Second)
	for i, m := range w.world.Masters() {
		m.Restart()
		m.Load(images[i])
	}
	want.Mode = kinds.Reader
	take(w.schedule.Window() + 2*time.Second)
}

// shortLived makes the restart window as short as possible, so that an uptime's error of up to a second is a large part
// of it. The first client holds the lock, and the others want it.
func shortLived(r *rand.Rand, s *Schedule) {
	ttl := between(r, [2]time.Duration{1200 * time.Millisecond, 3 * time.Second}).Round(100 * time.Millisecond)
	for i := range 3 {
		s.Clients = append(s.Clients, s.Clients[1])
		s.Clients[2+i].Name = []string{"client3", "client4", "client5"}[i]
	}
	for i := range s.Clients {
		c := &s.Clients[i]
		c.TTL, c.Wait, c.RetryMax = ttl, 4*ttl, 50*time.Millisecond
	}
}

// youngMasters checks that masters that have lost a lock do not vote before its TTL has passed. This holds for clients
// that see the masters for the first time and for clients that knew them before the restart, and for any uptime that
// the masters then report.
func (e *env) youngMasters() {
	for _, boasted := range []string{"", "86400"} { // at first, the other clients have not seen the masters
		holder := e.worker(0)
		// A master that starts late in a second soon reports an uptime of one second.
		late := time.Duration(time.Now().Nanosecond()) - 400*time.Millisecond - within(e.rng, 600*time.Millisecond)
		time.Sleep((2*time.Second - late) % time.Second)
		h := holder.must(e.want(kinds.Mutex), e.schedule.Window()+2*time.Second, "it is free")
		for _, m := range e.some(e.schedule.Masters - e.rng.IntN(e.majority())) {
			if boasted != "" {
				m.Info("uptime_in_seconds", boasted)
			}
			m.Restart()
		}
		all := []func(){func() {
			holder.pause(h.lock.Context(), 2*holder.client.TTL)
			h.end()
		}}
		for i := range e.schedule.Clients[1:] {
			other := e.worker(1 + i)
			all = append(all, func() {
				other.pause(context.Background(), within(other.rng, time.Second))
				h := other.must(e.want(kinds.Mutex), e.schedule.Window()+holder.client.TTL+4*time.Second,
					"the holder is gone, and the window past")
				other.pause(context.Background(), 20*time.Millisecond) // for the checker to see an overlap
				h.sure()
			})
		}
		together(all...)
	}
}

// refusedReleases checks that a client sends a release again until the master that refused it accepts it, and while an
// acquire may still be delivered after it.
func (e *env) refusedReleases() {
	w := e.worker(0)
	for _, kind := range []string{kinds.Mutex, kinds.Reader, kinds.Writer, kinds.Reentrant} {
		h := w.free(e.want(kind))
		which := e.some(1 + e.rng.IntN(e.schedule.Masters))
		each(which, func(m *simnet.Master) { m.Reply(replies[e.rng.IntN(len(replies))], writes...) })
		_ = h.unlock()
		time.Sleep(within(e.rng, 2*time.Second))
		each(which, (*simnet.Master).Recover)
		time.Sleep(time.Second + 2*w.client.Timeout) // it is sent again at least once a second
		for _, key := range e.left() {
			e.problem(check.ByResidue, w.who,
				"a master refused the release of a %v for a while, and a second later there is still %s", kind, key)
		}
	}
	e.deliveredLate(w)
}

// threeMasters leaves three masters. The first client extends its locks itself.
func threeMasters(_ *rand.Rand, s *Schedule) {
	s.Masters, s.Rates = 3, s.Rates[:3]
	for i := range s.Clients {
		s.Clients[i].Timeout = 500 * time.Millisecond
	}
}

// restoredKey checks that an extension does not use the vote of a master that restarted if the lock was not there
// before. A holder has its lock on two masters, and loses one of them. The third one grants the lock to a waiter and
// restarts at once, so that an extension of the holder sets its key there. The waiter's request is slow on its way to
// the lost master, and arrives when the holder's key has expired there.
func (e *env) restoredKey() {
	holder, waiter := e.worker(0), e.worker(1)
	order := e.rng.Perm(3)
	restarts, lost := order[0], order[1]
	waiter.free(locker.Request{Mode: kinds.Mutex, Names: []string{"connect"}}).sure()

	want := e.want(kinds.Mutex)
	ttl := holder.client.TTL
	e.world.Master(restarts).Set(want.Names[0], "foreign", ttl/2)
	h := holder.free(want)
	time.Sleep(holder.client.Timeout)
	holder.host.To(lost).BlackHole()
	const delay = 400 * time.Millisecond
	waiter.host.To(lost).DelayWay(simnet.ToMaster, delay, 0)

	expired := h.asked + ttl + ttl/200 // by any master's clock
	time.Sleep(expired + 10*time.Millisecond - delay - e.now())
	want.Try = true
	got := waiter.await(want, delay+time.Second)
	time.Sleep(5 * time.Millisecond)
	e.world.Master(restarts).Restart()
	for range 3 {
		time.Sleep(5 * time.Millisecond)
		go h.extend()
	}
	if next := <-got; next != nil {
		waiter.pause(context.Background(), holder.client.Timeout) // for the checker to see an overlap
		next.sure()
	}
	holder.host.To(lost).Heal()
	waiter.host.To(lost).Heal()
	h.end()
}
