package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// drift is how far a clock's speed is off, at most: two clocks differ by less than the drift budget of one percent.
const drift = 0.004

// profile is a kind of weather, and who is out in it.
type profile struct {
	name     string
	ttl      [2]time.Duration
	storm    [2]time.Duration
	kinds    []FaultKind // that befall masters
	links    []FaultKind // that befall the way from one client to one master
	minority bool        // never more than a minority of the masters are hurt at once
	rolling  bool        // waves of restarts
	loss     bool        // all masters lose everything at once
	freezes  bool        // clients freeze
	deaths   bool        // clients freeze for good
	calm     bool        // links are slow at most
	far      bool        // some clients are far from all masters; all hold for as long as they may, and try again soon
	busy     bool        // locks are held for moments, on paths that take their time, by clients whose clocks differ
	locks    []Kind      // the kinds that the profile is about
}

var (
	masterKinds = []FaultKind{Freeze, Crash, Crash, Restart, Refuse, Reply, ScriptFlush, BlackHole, CutTo, CutFrom, Delay, Loss, Reset}
	linkKinds   = []FaultKind{BlackHole, CutTo, CutFrom, Delay, Loss}
	evictKinds  = []FaultKind{Evict, Evict, Evict, Freeze, Refuse, BlackHole, CutTo, CutFrom, Delay, Loss}
	short       = [2]time.Duration{500 * time.Millisecond, 3 * time.Second}
)

var profiles = []profile{
	{name: "calm", ttl: short, storm: span(3, 5), kinds: []FaultKind{Delay, ScriptFlush}, calm: true},
	{name: "minority", ttl: short, storm: span(4, 8), kinds: masterKinds, minority: true},
	{name: "storm", ttl: short, storm: span(4, 8), kinds: masterKinds, links: linkKinds, freezes: true},
	{name: "rolling restarts", ttl: short, storm: span(4, 8), kinds: []FaultKind{Delay, Loss, CutFrom}, rolling: true},
	{name: "paused clients", ttl: short, storm: span(4, 8), kinds: []FaultKind{Freeze, Delay, Restart}, links: []FaultKind{Delay, Loss}, freezes: true},
	{name: "far away", ttl: [2]time.Duration{500 * time.Millisecond, time.Second}, storm: span(3, 5), far: true},
	{name: "ghosts", ttl: span(10, 30), storm: span(5, 10), kinds: []FaultKind{Freeze, Freeze, BlackHole, CutTo, CutFrom, Reset, Delay}, links: linkKinds},
	{name: "dead holders", ttl: span(4, 8), storm: span(8, 12), deaths: true, locks: []Kind{Reader, Reader, Reader, Writer}},
	{name: "evicted counters", ttl: short, storm: span(4, 8), kinds: evictKinds, links: []FaultKind{Delay, Loss}, minority: true},
	{name: "total loss", ttl: short, storm: span(6, 10), links: []FaultKind{Delay, Loss}, loss: true},
	{name: "split counters", ttl: span(6, 10), storm: span(3, 5), links: []FaultKind{CutTo, CutFrom, Delay, Delay, Loss}, busy: true},
}

func span(from, to int) [2]time.Duration {
	return [2]time.Duration{time.Duration(from) * time.Second, time.Duration(to) * time.Second}
}

// Draw returns the schedule of a seed.
func Draw(seed uint64) Schedule {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	p := profiles[seed%uint64(len(profiles))]
	s := Schedule{
		Seed: seed, Profile: p.name, Masters: 3 + 2*r.IntN(2), Names: []string{"a", "b", "c"}[:1+r.IntN(6)/2],
		Kinds: p.mix(r), Fencing: []float64{0, 0.7, 1, 1}[r.IntN(4)], Storm: between(r, p.storm).Round(time.Second),
	}
	for range s.Masters {
		s.Rates = append(s.Rates, rate(r))
	}
	for i := range 3 + r.IntN(6)/3 + r.IntN(6)/5 {
		s.Clients = append(s.Clients, p.client(r, i))
	}
	s.Window = s.MaxTTL() + s.MaxTTL()/100 + 2*time.Millisecond
	s.Faults = p.faults(r, s)
	if p.deaths || p.busy || s.forgets() {
		s.Fencing = max(s.Fencing, 0.7)
	}
	s.skew(r)
	return s
}

// mix draws how often the workers choose which kind. What the profile is about comes often.
func (p profile) mix(r *rand.Rand) []Kind {
	all := slices.Clone(p.locks)
	for _, k := range []Kind{Mutex, Reader, Writer, Reentrant, Several} {
		for range []int{0, 1, 1, 3}[r.IntN(4)] {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		all = append(all, Mutex)
	}
	return all
}

func (p profile) client(r *rand.Rand, i int) Client {
	retry := [][2]time.Duration{{10, 1000}, {50, 200}, {100, 500}, {100, 1000}}[r.IntN(4)]
	c := Client{
		Name: fmt.Sprintf("client%d", i+1), TTL: min(between(r, p.ttl), between(r, p.ttl)).Round(50 * time.Millisecond),
		Keepalive: r.IntN(2) == 0, Workers: 1 + r.IntN(6)/4, Rate: rate(r), Rest: 100 * time.Millisecond,
		RetryMin: retry[0] * time.Millisecond, RetryMax: retry[1] * time.Millisecond,
	}
	switch {
	case p.far:
		c.Greedy, c.Keepalive = true, false
		c.RetryMin, c.RetryMax = 5*time.Millisecond, 50*time.Millisecond
	case p.deaths:
		if i == 0 { // which dies
			c.TTL = min(between(r, short), between(r, short)).Round(50 * time.Millisecond)
		}
		c.Stay = c.TTL / 4
	case p.busy:
		c.Stay, c.Rest = 50*time.Millisecond, 20*time.Millisecond
		c.Workers++
	}
	if c.Stay == 0 {
		c.Stay = 2 * c.TTL
	}
	return c
}

// skew sets the clients' clocks apart, as far as the order of fencing tokens allows: by less than half the restart window,
// with what one attempt takes and what the clocks gain on each other meanwhile. Where masters forget their counters and
// nobody notices, there is no window, and the clocks must agree.
func (s *Schedule) skew(r *rand.Rand) {
	const attempt, gain = 600 * time.Millisecond, 300 * time.Millisecond
	most := max(0, s.Window/2-attempt/2-gain/2)
	for i := range s.Clients {
		c := &s.Clients[i]
		c.Skew = time.Duration((2*r.Float64() - 1) * float64(most))
		if s.forgets() {
			c.Skew, c.Rate = 0, 1
		}
	}
}

// faults draws one lane of faults for each thing that can be hurt; within a lane they don't overlap.
func (p profile) faults(r *rand.Rand, s Schedule) []Fault {
	var all []Fault
	ttl := s.MaxTTL()
	if p.busy {
		ttl = time.Second // much happens while a lock lives
	}
	lane := func(f Fault, kinds []FaultKind, gap time.Duration) {
		if len(kinds) == 0 {
			return
		}
		for at := within(r, gap); at < s.Storm; at += within(r, gap) {
			f := f
			f.Kind = kinds[r.IntN(len(kinds))]
			f.At = at
			f.draw(r, ttl, p.calm)
			all = append(all, f)
			at = f.Until
		}
	}
	hurt := s.Masters
	if p.minority {
		hurt = s.Masters / 2
	}
	for _, m := range r.Perm(s.Masters)[:hurt] {
		server, path := split(p.kinds)
		lane(Fault{Master: m, Client: -1}, server, 2*ttl)
		lane(Fault{Master: m, Client: -1}, path, 4*ttl)
	}
	for c := range s.Clients {
		for m := range s.Masters {
			if p.busy {
				lane(Fault{Master: m, Client: c}, p.links, ttl)
			} else if r.IntN(3) == 0 {
				lane(Fault{Master: m, Client: c}, p.links, 5*ttl)
			}
		}
		if p.freezes && r.IntN(2) == 0 {
			lane(Fault{Master: -1, Client: c}, []FaultKind{Freeze}, 3*ttl)
		}
	}
	if p.far {
		all = append(all, distance(r, s)...)
	}
	if p.rolling {
		for at := within(r, 2*ttl); at < s.Storm; at += within(r, 4*ttl) {
			all = append(all, wave(r, s, at, 1+r.IntN(s.Masters), ttl)...)
		}
	}
	if p.loss {
		for at := within(r, s.Storm/2); at < s.Storm; at += s.Window + within(r, s.Storm) {
			all = append(all, wave(r, s, at, s.Masters, 50*time.Millisecond)...)
		}
	}
	if p.deaths {
		all = append(all, Fault{Kind: Freeze, Master: -1, Client: 0, At: within(r, s.Storm/2), Until: s.Storm})
	}
	slices.SortStableFunc(all, func(a, b Fault) int { return int(a.At - b.At) })
	return all
}

// distance slows every second client's way to all masters.
func distance(r *rand.Rand, s Schedule) (all []Fault) {
	for c := 1; c < len(s.Clients); c += 2 {
		way := 15*time.Millisecond + within(r, 8*time.Millisecond) // the round trip stays below the least node timeout
		for m := range s.Masters {
			all = append(all, Fault{Kind: Delay, Master: m, Client: c, At: 1, Until: s.Storm, Delay: way, Jitter: within(r, time.Millisecond)})
		}
	}
	return all
}

// wave restarts n masters, empty, within a while from at on.
func wave(r *rand.Rand, s Schedule, at time.Duration, n int, while time.Duration) (all []Fault) {
	for _, m := range r.Perm(s.Masters)[:n] {
		f := Fault{Kind: Crash, Master: m, Client: -1, At: at + within(r, while)}
		f.Until = f.At + within(r, 50*time.Millisecond)
		all = append(all, f)
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
