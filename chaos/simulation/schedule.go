package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Schedule is one run: who contends for what, and what befalls them when. A seed fixes it.
type Schedule struct {
	Seed    uint64
	Profile string
	Masters int
	Names   []string
	Clients []Client
	// Rates are the speeds of the masters' clocks; the clients have theirs.
	Rates []float64
	// Window is the restart window of all clients: it covers the largest TTL.
	Window time.Duration
	// Storm is how long the faults and the contention last.
	Storm  time.Duration
	Faults []Fault
}

// Client is one Locker on a host of its own.
type Client struct {
	Name      string
	TTL       time.Duration
	Keepalive bool
	Workers   int
	// Greedy: it holds for as long as it may.
	Greedy bool
	// Rate is the speed of the host's clock.
	Rate               float64
	RetryMin, RetryMax time.Duration
}

// MaxTTL returns the largest TTL of the clients.
func (s Schedule) MaxTTL() time.Duration {
	var most time.Duration
	for _, c := range s.Clients {
		most = max(most, c.TTL)
	}
	return most
}

func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d (%s): %d masters, names %s, %v of storm with %d faults, restart window %v\n",
		s.Seed, s.Profile, s.Masters, strings.Join(s.Names, " "), s.Storm, len(s.Faults), s.Window)
	for _, c := range s.Clients {
		keepalive := "keepalive"
		if !c.Keepalive {
			keepalive = "no keepalive"
		}
		if c.Greedy {
			keepalive += ", holds to the end"
		}
		fmt.Fprintf(&b, "  %s: %d workers, TTL %v, %s, clock at %.4f\n", c.Name, c.Workers, c.TTL, keepalive, c.Rate)
	}
	return b.String()
}

// drift is how far a clock's speed is off, at most: two clocks differ by less than the drift budget of one percent.
const drift = 0.004

// profile is a kind of weather.
type profile struct {
	name     string
	ttl      [2]time.Duration
	storm    [2]time.Duration
	kinds    []Kind // of faults that befall masters
	links    []Kind // of faults that befall the way from one client to one master
	minority bool   // never more than a minority of the masters are hurt at once
	rolling  bool   // waves of restarts
	freezes  bool   // clients freeze
	calm     bool   // links are slow at most
	far      bool   // some clients are far from all masters; all hold for as long as they may, and try again soon
}

var (
	masterKinds = []Kind{Freeze, Crash, Crash, Restart, Refuse, Reply, ScriptFlush, BlackHole, CutTo, CutFrom, Delay, Loss, Reset}
	linkKinds   = []Kind{BlackHole, CutTo, CutFrom, Delay, Loss}
	short       = [2]time.Duration{500 * time.Millisecond, 3 * time.Second}
)

var profiles = []profile{
	{name: "calm", ttl: short, storm: span(3, 5), kinds: []Kind{Delay, ScriptFlush}, calm: true},
	{name: "minority", ttl: short, storm: span(4, 8), kinds: masterKinds, minority: true},
	{name: "storm", ttl: short, storm: span(4, 8), kinds: masterKinds, links: linkKinds, freezes: true},
	{name: "rolling restarts", ttl: short, storm: span(4, 8), kinds: []Kind{Delay, Loss, CutFrom}, rolling: true},
	{name: "paused clients", ttl: short, storm: span(4, 8), kinds: []Kind{Freeze, Delay, Restart}, links: []Kind{Delay, Loss}, freezes: true},
	{name: "far away", ttl: [2]time.Duration{500 * time.Millisecond, time.Second}, storm: span(3, 5), far: true},
	{name: "ghosts", ttl: span(10, 30), storm: span(5, 10), kinds: []Kind{Freeze, Freeze, BlackHole, CutTo, CutFrom, Reset, Delay}, links: linkKinds},
}

func span(from, to int) [2]time.Duration {
	return [2]time.Duration{time.Duration(from) * time.Second, time.Duration(to) * time.Second}
}

// Draw returns the schedule of a seed.
func Draw(seed uint64) Schedule {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	p := profiles[seed%uint64(len(profiles))]
	s := Schedule{Seed: seed, Profile: p.name, Masters: 3 + 2*r.IntN(2), Names: []string{"a"}, Storm: between(r, p.storm).Round(time.Second)}
	if r.IntN(3) == 0 {
		s.Names = append(s.Names, "b")
	}
	for range s.Masters {
		s.Rates = append(s.Rates, rate(r))
	}
	for i := range 3 + r.IntN(6)/3 + r.IntN(6)/5 {
		retry := [][2]time.Duration{{10, 1000}, {50, 200}, {100, 500}, {100, 1000}}[r.IntN(4)]
		s.Clients = append(s.Clients, Client{
			Name: fmt.Sprintf("client%d", i+1), TTL: min(between(r, p.ttl), between(r, p.ttl)).Round(50 * time.Millisecond),
			Keepalive: r.IntN(2) == 0, Workers: 1 + r.IntN(6)/4, Rate: rate(r),
			RetryMin: retry[0] * time.Millisecond, RetryMax: retry[1] * time.Millisecond,
		})
	}
	for i := range s.Clients {
		if p.far {
			s.Clients[i].Greedy, s.Clients[i].Keepalive = true, false
			s.Clients[i].RetryMin, s.Clients[i].RetryMax = 5*time.Millisecond, 50*time.Millisecond
		}
	}
	s.Window = s.MaxTTL() + s.MaxTTL()/100 + 2*time.Millisecond
	s.Faults = p.faults(r, s)
	return s
}

// faults draws one lane of faults for each thing that can be hurt; within a lane they don't overlap.
func (p profile) faults(r *rand.Rand, s Schedule) []Fault {
	var all []Fault
	ttl := s.MaxTTL()
	lane := func(f Fault, kinds []Kind, gap time.Duration) {
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
			if r.IntN(3) == 0 {
				lane(Fault{Master: m, Client: c}, p.links, 5*ttl)
			}
		}
		if p.freezes && r.IntN(2) == 0 {
			lane(Fault{Master: -1, Client: c}, []Kind{Freeze}, 3*ttl)
		}
	}
	if p.far {
		for c := range s.Clients {
			if c%2 == 0 {
				continue
			}
			way := 15*time.Millisecond + within(r, 8*time.Millisecond) // the round trip stays below the least node timeout
			for m := range s.Masters {
				all = append(all, Fault{Kind: Delay, Master: m, Client: c, At: 1, Until: s.Storm, Delay: way, Jitter: within(r, time.Millisecond)})
			}
		}
	}
	if p.rolling {
		for at := within(r, 2*ttl); at < s.Storm; at += within(r, 4*ttl) {
			for _, m := range r.Perm(s.Masters)[:1+r.IntN(s.Masters)] {
				f := Fault{Kind: Crash, Master: m, Client: -1, At: at + within(r, ttl)}
				f.Until = f.At + within(r, 50*time.Millisecond)
				all = append(all, f)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Fault) int { return int(a.At - b.At) })
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
