// Package simulation runs the real lock, with the real client and the real scripts, against simulated masters in
// virtual time, under a schedule of faults that it draws from a seed. Workers mix all kinds of locks on the same names.
// Checkers judge the run: two locks that exclude each other are never held at the same time, fencing tokens are in
// order, losses are notified in time, no keys are left except counters with a TTL, no client waits long for a free
// lock, and after the faults every client can lock again.
//
//	go test ./chaos/internal/simulation                                             some schedules, from a random seed on
//	go test ./chaos/internal/simulation -run TestSchedules -schedules=5000 -seed=1
//
// A seed determines the schedule: masters, clients, clocks, faults, and what the workers intend to do. It does not
// determine the order in which goroutines run that are ready at the same instant, nor what the lock draws for itself
// (tokens, jitter). A rare violation may therefore take several runs of its seed to show again.
package simulation

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/chaos/internal/register"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/internal/simnet"
)

// Open opens the Locker of a client.
type Open func(w *simnet.Net, h *simnet.Host, s Schedule, c Client) (Locker, error)

const (
	// cost is the time that a master takes for one command.
	cost = 20 * time.Microsecond
	// patience is how long, beyond its context or its masters' deadlines, a call may take before it counts as stuck.
	patience = 3 * time.Second
	// tidy is how long after the end of all traffic keys may remain on the masters.
	tidy = 2 * time.Second
	// slots is how many slots a semaphore has, unless it is of a group.
	slots = 2
)

// A run is one schedule while it is played.
type run struct {
	*recorder
	schedule Schedule
	world    *simnet.Net
	open     Open
	hosts    []*simnet.Host
	lockers  []Locker
	lives    []*life         // the present life of each client
	killed   []*life         // killed lives of clients that have a new one
	started  []int           // number of lives of each client
	over     chan struct{}   // closed when the storm is over
	storm    context.Context // ends with the storm
	injected map[string]int  // number of injections of each fault of the plan

	registers map[string]traffic.Register
}

// Run runs s within the bubble that it is called from.
func Run(t simnet.TB, s Schedule, open Open) *Result {
	t.Helper()
	n := len(s.Clients)
	r := &run{
		recorder: newRecorder(), schedule: s, world: simnet.New(t, s.Seed, s.Masters), open: open, over: make(chan struct{}),
		hosts: make([]*simnet.Host, n), lockers: make([]Locker, n), lives: make([]*life, n), started: make([]int, n),
		injected: make(map[string]int),
	}
	r.registers = map[string]traffic.Register{}
	for _, kind := range []string{history.Trusting, history.Fenced} {
		r.registers[kind] = register.NewCounters(kind, r.log)
	}
	r.log(history.Event{T: 1, Kind: history.Phase, Phase: history.Storm})
	r.twins()
	storm, calm := context.WithCancel(context.Background())
	defer calm()
	r.storm = storm
	r.busy *= max(1, len(s.Groups))
	r.world.Watch(r.command)
	r.world.Cost(cost)
	for i, rate := range s.Rates {
		r.world.Master(i).Rate(rate)
	}
	for i := range s.Clients {
		if r.begin(i) != nil {
			return r.result(s)
		}
	}

	fine := true
	if d := microScenarioOf(s); d != nil {
		d.play(&env{run: r, rng: s.dice()})
	} else {
		for i := range s.Clients {
			r.work(i)
		}
		fine = r.playFaults()
	}
	close(r.over)
	calm()
	for i, h := range r.hosts {
		if h.Dead() {
			r.revive(i)
		} else if h.Frozen() {
			r.thaw(r.lives[i])
		}
	}
	r.world.Heal()
	if !fine { // a simulated hour of so many commands would take hours
		for _, m := range r.world.Masters() {
			m.Crash()
		}
	}
	r.note("fault", "all is well again")
	if r.rest() && fine {
		r.residue("after the storm")
		r.liveness()
		r.residue("at the end")
		if s.Ghosts {
			r.ghosts()
		}
	}
	r.close()
	r.drainKilled()
	result := r.result(s)
	result.Injected = r.injected
	for _, l := range slices.Concat(r.killed, r.lives) {
		if l, ok := l.locker.(interface{ HandedOver() int }); ok {
			result.HandedOver += l.HandedOver()
		}
	}
	return result
}

// playFaults injects and heals the faults until the storm is over. It returns false if it gave up early.
func (r *run) playFaults() bool {
	defer r.playPlan()()
	type turn struct {
		at time.Duration
		do func()
	}
	var turns []turn
	for _, f := range r.schedule.Faults {
		turns = append(turns, turn{f.At, func() {
			r.note(f.where(), "%v", f)
			r.trouble(history.Inject, f)
			f.inject(r, true)
			if f.Until <= f.At {
				r.trouble(history.Healthy, f)
			}
		}})
		if f.Until > f.At {
			turns = append(turns, turn{f.Until, func() {
				f.inject(r, false)
				r.trouble(history.Healthy, f)
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

// playPlan begins to carry out the scenario's plan. The caller must call the function that it returns, which heals what
// is still injected.
func (r *run) playPlan() (end func()) {
	if len(r.schedule.Plan) == 0 {
		return func() {}
	}
	m := newMasters(r.world, r.schedule.Rates)
	nemesis := r.nemesis(m)
	nemesis.Log = func(e history.Event) {
		if e.Kind == history.Inject {
			r.injected[e.Fault]++
		}
		r.log(e)
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { m.sync(ctx.Done()) })
	all.Go(func() {
		if err := nemesis.Run(ctx, r.schedule.Plan); err != nil && ctx.Err() == nil {
			r.problem(check.ByHarness, "fault", "%v", err)
		}
	})
	return func() {
		stop()
		all.Wait()
	}
}

// nemesis returns one for these masters and for the clients.
func (r *run) nemesis(m *masters) *faults.Nemesis {
	return &faults.Nemesis{
		Faults:  slices.Concat(faults.OnMasters(m), faults.OnClients(clients{r})),
		Healthy: func(context.Context, faults.Side, int) error { return nil },
		Log:     r.log,
		Say:     func(format string, args ...any) { r.note("fault", format, args...) },
	}
}

// trouble records a fault of a master, or of the path to one, for the checkers.
func (r *run) trouble(kind history.Kind, f Fault) {
	if f.Master >= 0 {
		r.log(history.Event{Kind: kind, Fault: string(f.Kind), On: string(faults.Masters), Targets: []int{f.Master}})
	}
}

// twins records that a master with two addresses counts for no client: one client takes it for two.
func (r *run) twins() {
	if slices.ContainsFunc(r.schedule.Clients, func(c Client) bool { return c.Twin }) {
		for _, m := range []int{0, r.schedule.Masters - 1} {
			r.trouble(history.Inject, Fault{Kind: "twins", Master: m})
		}
	}
}

// sleep waits until the given time. It returns false if the run should end early.
func (r *run) sleep(then time.Duration) bool {
	select {
	case <-time.After(then - r.now()):
		return true
	case <-r.hectic:
		return false
	}
}

// rest waits until the workers of the present lives have ended.
func (r *run) rest() bool {
	var all sync.WaitGroup
	for _, l := range r.lives {
		all.Go(l.workers.Wait)
	}
	return r.await("workers", &all, r.schedule.MaxTTL()+r.schedule.Window+10*time.Second)
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
	if r.schedule.Proxies { // a request that a fault held up may arrive this late; it is undone then
		time.Sleep(r.schedule.Storm + time.Second)
	}
	for i, m := range r.world.Masters() {
		for _, key := range m.Keys() {
			left := m.TTL(key)
			switch {
			case isCounter(key):
				if left <= 0 {
					r.problem(check.ByResidue, m.Addr(), "counter %q on master %d has no end", key, i)
				}
			case strings.HasPrefix(key, intents) && !r.schedule.quiet() && left <= r.schedule.intentLife()*101/100:
				// A key that had expired, and was not released for that reason, exists again when the clock is set
				// back.
			case r.schedule.jumps() && left > 0:
			default:
				r.problem(check.ByResidue, m.Addr(), "key %q = %q left on master %d %s, for %v more", key, content(m, key), i, when, left)
			}
		}
		if channels := m.Redis().PubSubChannels(""); len(channels) > 0 {
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
func (s Schedule) bound() time.Duration { return s.Window + s.MaxTTL() + 10*time.Second }

// liveness has every client acquire what its groups acquire, and every kind of lock, all clients at the same time.
func (r *run) liveness() {
	bound := r.schedule.bound()
	names := r.schedule.Names
	r.phase(history.Calm)
	var all sync.WaitGroup
	for i, l := range r.lockers {
		all.Go(func() {
			r.lives[i].traffic.Round(traffic.Command{Phase: history.Calm, TTL: traffic.TTL, Patience: bound})
			who := r.schedule.Clients[i].Name
			for n, kind := range kinds.Names() {
				want := locker.Request{Mode: kind, Names: names[(n+i)%len(names):][:1], Fencing: (n+i)%2 == 0}
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
				r.works(who, l, want, bound)
			}
		})
	}
	r.await("liveness", &all, time.Duration(5+len(names))*bound+patience)
}

// works checks that a lock can be acquired and released.
func (r *run) works(who string, l Locker, want locker.Request, bound time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	lock, err := l.Lock(ctx, want)
	if err != nil || lock == nil {
		r.problem(check.ByLiveness, who, "cannot take a %s of %q %v after all was well: %v", want.Mode, want.Names, bound, err)
		return
	}
	if err := lock.Unlock(ctx); err != nil {
		r.problem(ByContract, who, "cannot unlock a %s of %q though all is well: %v", want.Mode, want.Names, err)
	}
}

// close closes all lockers, and checks that they return in time and leave no connection.
func (r *run) close() {
	var all sync.WaitGroup
	for i, l := range r.lockers {
		all.Go(func() {
			start := r.now()
			if err := l.Close(); err != nil {
				r.problem(ByContract, r.schedule.Clients[i].Name, "Close: %v", err)
			}
			if took := r.now() - start; took > patience {
				r.problem(check.ByLiveness, r.schedule.Clients[i].Name, "Close took %v", took)
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
