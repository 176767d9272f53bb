package simulation

import (
	"math/rand/v2"
	"time"
)

// waves restarts some masters at about the same time, empty, and repeats that.
func waves(r *rand.Rand, s Schedule) (all []Fault) {
	ttl := s.MaxTTL()
	for at := within(r, 2*ttl); at < s.Storm; at += within(r, 4*ttl) {
		all = append(all, wave(r, s, at, 1+r.IntN(s.Masters), ttl)...)
	}
	return all
}

// losses makes all masters lose everything at about the same time, and repeats that after they have been up for a
// while.
func losses(r *rand.Rand, s Schedule) (all []Fault) {
	for at := within(r, s.Storm/2); at < s.Storm; at += s.Window + within(r, s.Storm) {
		all = append(all, wave(r, s, at, s.Masters, 50*time.Millisecond)...)
	}
	return all
}

func wave(r *rand.Rand, s Schedule, at time.Duration, n int, while time.Duration) (all []Fault) {
	for _, m := range r.Perm(s.Masters)[:n] {
		f := Fault{Kind: Crash, Master: m, Client: -1, At: at + within(r, while)}
		f.Until = f.At + within(r, 50*time.Millisecond)
		all = append(all, f)
	}
	return all
}

// greedy makes a client hold each lock until it expires and retry soon.
func greedy(_ *rand.Rand, _ int, c *Client) {
	c.Greedy, c.Keepalive = true, false
	c.RetryMin, c.RetryMax = 5*time.Millisecond, 50*time.Millisecond
}

// distance slows the paths of every second client to all masters.
func distance(r *rand.Rand, s Schedule) (all []Fault) {
	for c := 1; c < len(s.Clients); c += 2 {
		way := 15*time.Millisecond + within(r, 8*time.Millisecond) // the round trip stays below the least node timeout
		for m := range s.Masters {
			all = append(all,
				Fault{Kind: Delay, Master: m, Client: c, At: 1, Until: s.Storm, Delay: way, Jitter: within(r, time.Millisecond)})
		}
	}
	return all
}

// mortal prepares the first client to die, most likely while it holds a lock. Its TTL is short, since other clients,
// whose TTL is longer, must not keep its locks alive.
func mortal(r *rand.Rand, i int, c *Client) {
	c.Stay = c.TTL / 4
	if i == 0 {
		c.TTL = min(between(r, short), between(r, short)).Round(50 * time.Millisecond)
		c.Greedy, c.Keepalive, c.Workers, c.Stay, c.Rest = true, true, 3, 2*c.TTL, 20*time.Millisecond
	}
}

func death(r *rand.Rand, s Schedule) []Fault {
	return []Fault{{Kind: Freeze, Master: -1, Client: 0, At: within(r, s.Storm/2), Until: s.Storm}}
}

// partisan prepares a client for its part in parties. The clocks of the first third are far ahead, so that the counters
// of the masters that they reach are far ahead too. The others send many requests over their slow paths, so that
// requests that a round no longer needs wait there and are dropped.
func partisan(_ *rand.Rand, i int, c *Client) {
	c.Timeout, c.Stay, c.Hasty = 2500*time.Millisecond, time.Millisecond, 0.8
	switch i % 3 {
	case 0:
		c.Workers, c.Rest, c.Wait, c.Skew = 1, 200*time.Millisecond, 50*time.Millisecond, time.Hour
	case 1:
		c.Workers, c.Rest, c.Own = 4, 200*time.Millisecond, true
	case 2:
		c.Workers, c.Rest = 2, 50*time.Millisecond
	}
}

// parties gives the clients different views of three masters. One third of the clients reaches only the first master.
// Another third has the first two nearby and a slow path to the third. The last third has the second nearby and slow
// paths to the others. The masters' counters therefore differ, and other clients come and go during each attempt of the
// last third. The masters swap their parts once per Move.
func parties(r *rand.Rand, s Schedule) (all []Fault) {
	for at := s.Move / 2; at < s.Storm; at += s.Move { // at first all clients connect
		begin := Fault{Kind: Delay, At: at, Until: min(s.Storm, at+s.Move-1)}
		delay := func(f Fault, least, most time.Duration) {
			f.Delay = between(r, [2]time.Duration{least, most})
			f.Jitter = f.Delay / 4
			all = append(all, f)
		}
		masters := r.Perm(s.Masters)
		for c := range s.Clients {
			for part, m := range masters[:3] {
				f := begin
				f.Client, f.Master = c, m
				switch [2]int{c % 3, part} {
				case [2]int{0, 1}, [2]int{0, 2}:
					f.Kind = CutTo
					all = append(all, f)
				case [2]int{1, 2}:
					delay(f, 10*time.Millisecond, 40*time.Millisecond)
				case [2]int{2, 0}:
					delay(f, 200*time.Millisecond, 500*time.Millisecond)
				case [2]int{2, 2}:
					delay(f, 80*time.Millisecond, 300*time.Millisecond)
				}
			}
		}
	}
	return all
}

// loyal makes a client hold its locks for a long time with keepalive.
func loyal(r *rand.Rand, i int, c *Client) {
	c.Keepalive, c.Stay, c.RetryMin, c.RetryMax = true, 2*c.TTL, 10*time.Millisecond, 100*time.Millisecond
	if i == 0 {
		c.Greedy, c.Stay = true, 4*c.TTL
	}
}

// islands cuts clients off from a majority of the masters, in one direction or both, for longer than their TTL.
func islands(r *rand.Rand, s Schedule) (all []Fault) {
	for c := range s.Clients[:2] {
		for at := within(r, s.MaxTTL()); at < s.Storm; at += within(r, 2*s.MaxTTL()) {
			until := at + s.Clients[c].TTL + within(r, 2*s.MaxTTL())
			for _, m := range r.Perm(s.Masters)[:s.Masters/2+1+r.IntN(s.Masters/2+1)] {
				kind := []FaultKind{BlackHole, CutTo, CutFrom}[r.IntN(3)]
				all = append(all, Fault{Kind: kind, Master: m, Client: c, At: at, Until: until})
			}
			at = until
		}
	}
	return all
}

// twin gives the first client one master under two addresses.
func twin(_ *rand.Rand, i int, c *Client) { c.Twin = i == 0 }

// farTwin cuts the first client off, from time to time, from the one master that it has under a single address.
func farTwin(r *rand.Rand, s Schedule) (all []Fault) {
	for at := within(r, time.Second); at < s.Storm; at += within(r, time.Second) {
		f := Fault{
			Kind: []FaultKind{BlackHole, CutTo, CutFrom}[r.IntN(3)], Master: 1, Client: 0, At: at,
			Until: at + within(r, 3*time.Second),
		}
		all = append(all, f)
		at = f.Until
	}
	return all
}

// settled makes a client hold some locks for a long time under a name that no other client wants.
func settled(_ *rand.Rand, _ int, c *Client) {
	c.Keepalive, c.Own, c.Greedy, c.Stay = true, true, true, 3*c.TTL
}

// wipes has all masters lose all data at once.
func wipes(r *rand.Rand, s Schedule) (all []Fault) {
	for at := s.MaxTTL()/2 + within(r, s.MaxTTL()); at < s.Storm; at += 2*s.MaxTTL() + within(r, s.Storm) {
		for m := range s.Masters {
			all = append(all, Fault{Kind: Wipe, Master: m, Client: -1, At: at, Until: at})
		}
	}
	return all
}
