package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Draw returns the schedule of a seed.
func Draw(seed uint64) Schedule {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	p := profiles[seed%uint64(len(profiles))]
	s := Schedule{
		Seed: seed, Profile: p.name, Masters: cmp.Or(p.masters, 3+2*r.IntN(2)),
		Names: []string{"a", "b", "c"}[:1+r.IntN(6)/2],
		Kinds: p.mix(r), Fencing: max([]float64{0, 0.7, 1, 1}[r.IntN(4)], p.fencing),
		Storm: between(r, p.storm).Round(time.Second), Move: p.move,
	}
	if s.Move > 0 {
		s.Names = nil
		for i := range int(s.Storm/s.Move) + 2 {
			s.Names = append(s.Names, fmt.Sprintf("n%d", i+1))
		}
	}
	for range s.Masters {
		s.Rates = append(s.Rates, rate(r))
	}
	for i := range 3 + r.IntN(6)/3 + r.IntN(6)/5 {
		s.Clients = append(s.Clients, p.draw(r, i))
	}
	s.Proxies = p.proxies && rand.New(rand.NewPCG(seed, 0x9a)).IntN(2) == 0
	s.Plan = p.plan(r, s)
	s.skew(r, p.steps)
	if p.client == nil && p.fencing == 0 {
		switch rand.New(rand.NewPCG(seed, 0xc0)).IntN(6) {
		case 0:
			s.crowd()
		case 1:
			s.turns()
		}
	}
	s.semaphores(p.client == nil && p.fencing == 0)
	s.elections()
	s.jobs()
	slices.SortStableFunc(s.Plan, func(a, b faults.Step) int { return cmp.Compare(a.At, b.At) })
	return s
}

// Of returns the n-th schedule of a profile. Both n and the seeds count from 1.
func Of(of string, n uint64) Schedule {
	first := slices.IndexFunc(profiles, func(p profile) bool { return p.name == of })
	switch first {
	case -1:
		panic("simulation: no profile is called " + of)
	case 0:
		first = len(profiles) // the seed 0 does not count
	}
	return Draw(uint64(first) + (n-1)*uint64(len(profiles)))
}

// crowd makes several workers of each client wait for plain locks that are held only briefly, so that one hands them to
// the next.
func (s *Schedule) crowd() {
	s.Fencing = 0
	s.Kinds = append(s.Kinds, kinds.Mutex, kinds.Mutex, kinds.Mutex, kinds.Mutex)
	for i := range s.Clients {
		c := &s.Clients[i]
		c.Workers, c.Hasty, c.Stay, c.Rest = 3, 0.1, c.TTL/20, 10*time.Millisecond
	}
}

// turns makes the workers of each client ask for two names in turn, so that the client waits for each name repeatedly
// while it waits for the other. Its retry bounds are long, so that it depends on release messages.
func (s *Schedule) turns() {
	s.Names = []string{"a", "b"}
	for i := range s.Clients {
		c := &s.Clients[i]
		c.Workers, c.InTurn, c.Hasty, c.Stay, c.Rest = 2, true, 0.1, c.TTL/4, 20*time.Millisecond
		c.RetryMin, c.RetryMax = time.Second, 4*time.Second
		c.Wait = max(c.Wait, 8*time.Second)
	}
}

// mix draws the kinds of locks. A kind that occurs repeatedly is chosen more often.
func (p profile) mix(r *rand.Rand) []string {
	all := slices.Clone(p.favored)
	for _, k := range kinds.Names() {
		if k == kinds.Semaphore || k == kinds.Leader {
			continue // see semaphores and elections
		}
		for range []int{0, 1, 1, 3}[r.IntN(4)] {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		all = append(all, kinds.Mutex)
	}
	return all
}

// semaphores adds semaphores to the kinds of a third of the schedules. In half of these, if crowded, several workers of
// each client want hardly anything else. It uses a random generator of its own, as elections and jobs do, so adding
// semaphores changed no other schedule.
func (s *Schedule) semaphores(crowded bool) {
	r := rand.New(rand.NewPCG(s.Seed, 0x510))
	if r.IntN(3) > 0 {
		return
	}
	share := r.IntN(2 * len(s.Kinds))
	if crowded && r.IntN(2) == 0 {
		share, s.Names = 10*len(s.Kinds), s.Names[:1]
		for i := range s.Clients {
			c := &s.Clients[i]
			c.Workers, c.InTurn, c.Stay, c.Rest = 3, false, c.TTL/4, c.TTL/20
		}
	}
	s.Kinds = append(s.Kinds, slices.Repeat([]string{kinds.Semaphore}, 1+share)...)
}

// elections adds leaders to the kinds of a quarter of the schedules.
func (s *Schedule) elections() {
	if r := rand.New(rand.NewPCG(s.Seed, 0xe1ec)); r.IntN(4) == 0 {
		s.Kinds = append(s.Kinds, slices.Repeat([]string{kinds.Leader}, 1+r.IntN(len(s.Kinds)))...)
	}
}

// jobs gives some locks of a quarter of the schedules a minimum hold, within the restart window.
func (s *Schedule) jobs() {
	if r := rand.New(rand.NewPCG(s.Seed, 0x10b)); r.IntN(4) == 0 {
		s.MinHold = within(r, min(s.MaxTTL(), 1500*time.Millisecond)).Round(time.Millisecond)
	}
}

func (p profile) draw(r *rand.Rand, i int) Client {
	retry := [][2]time.Duration{{10, 1000}, {50, 200}, {100, 500}, {100, 1000}, {100, 3000}}[r.IntN(5)]
	c := Client{
		Name: fmt.Sprintf("client%d", i+1), TTL: min(between(r, p.ttl), between(r, p.ttl)).Round(50 * time.Millisecond),
		Keepalive: r.IntN(2) == 0, Workers: 1 + r.IntN(6)/4, Rate: rate(r), Hasty: 0.33, Rest: 100 * time.Millisecond,
		RetryMin: retry[0] * time.Millisecond, RetryMax: retry[1] * time.Millisecond,
	}
	if p.client != nil {
		p.client(r, i, &c)
	}
	c.Timeout = cmp.Or(c.Timeout, min(max(c.TTL/20, 50*time.Millisecond), 500*time.Millisecond))
	c.Wait = cmp.Or(c.Wait, 2*c.TTL+time.Second)
	c.Stay = cmp.Or(c.Stay, 2*c.TTL)
	return c
}

// skew sets the clients' clocks apart. If restarted masters lose their counters, tokens stay in order only if two
// clocks differ by less than the restart window, less three node timeouts and the clocks' gain on each other. If
// counters are lost without a restart, no window applies, and the clocks must agree.
//
// With steps, the clocks are also set to new values within that limit during the storm. If no master loses its
// counters, the values may differ by more.
func (s *Schedule) skew(r *rand.Rand, steps bool) {
	const gain = 300 * time.Millisecond
	most := s.Window()
	for _, c := range s.Clients {
		most = max(0, min(most, (s.Window()-gain-3*c.Timeout)/2))
	}
	for i := range s.Clients {
		switch c := &s.Clients[i]; {
		case s.forgets():
			c.Skew, c.Rate = 0, 1
		case c.Skew == 0:
			c.Skew = time.Duration((2*r.Float64() - 1) * float64(most))
		}
		if steps && !s.forgets() {
			s.step(r, i, most)
		}
	}
}

// step draws when a client's time of day is set, and to which value: up to most ahead or behind, or an hour if no
// master loses its counters.
func (s *Schedule) step(r *rand.Rand, client int, most time.Duration) {
	if !s.plans(func(t faults.Traits) bool { return t.Restarts }) {
		most = time.Hour
	}
	ahead := s.Clients[client].Skew
	for at := within(r, s.Storm); at < s.Storm; at += within(r, s.Storm) {
		to := time.Duration((2*r.Float64() - 1) * float64(most))
		s.Plan = append(s.Plan, faults.Step{
			Fault: SetTimeOfDay, On: faults.Clients, Targets: []int{client}, At: at,
			Severity: faults.Severity{Shift: to - ahead},
		})
		ahead = to
	}
}

// plan draws one sequence of faults for each master, path and client. Faults of one sequence do not overlap.
func (p profile) plan(r *rand.Rand, s Schedule) (all []faults.Step) {
	ttl := s.MaxTTL()
	sequence := func(step faults.Step, names []string, gap time.Duration) {
		if len(names) == 0 {
			return
		}
		for at := within(r, gap); at < s.Storm; at += within(r, gap) {
			step.Fault, step.At = names[r.IntN(len(names))], at
			f := drawn(step, r, ttl, p.calm)
			all = append(all, f)
			at = f.Until()
		}
	}
	masters := s.Masters
	if p.minority {
		masters /= 2
	}
	ofServer := slices.DeleteFunc(slices.Clone(p.faults), ofPath)
	ofPaths := slices.DeleteFunc(slices.Clone(p.faults), func(fault string) bool { return !ofPath(fault) })
	for _, m := range r.Perm(s.Masters)[:masters] {
		sequence(faults.Step{On: faults.Masters, Targets: []int{m}}, ofServer, 2*ttl)
		sequence(faults.Step{On: faults.Masters, Targets: []int{m}}, ofPaths, 4*ttl)
	}
	for c := range s.Clients {
		for m := range s.Masters {
			if r.IntN(3) == 0 {
				sequence(faults.Step{On: faults.Masters, Targets: []int{m}, Paths: []int{c}}, p.pathwise, 5*ttl)
			}
		}
		if p.freezes && r.IntN(2) == 0 {
			sequence(faults.Step{On: faults.Clients, Targets: []int{c}}, []string{faults.FreezeClient}, 3*ttl)
		}
	}
	if p.storms != nil {
		all = append(all, p.storms(r, s)...)
	}
	return all
}

func between(r *rand.Rand, d [2]time.Duration) time.Duration {
	return d[0] + time.Duration(r.Int64N(int64(d[1]-d[0])+1))
}

// within draws from (0, d].
func within(r *rand.Rand, d time.Duration) time.Duration {
	return 1 + time.Duration(r.Int64N(int64(d)))
}

func rate(r *rand.Rand) float64 { return 1 + drift*(2*r.Float64()-1) }
