package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/faults"
)

// waves restarts some masters at about the same time, empty, and repeats that.
func waves(r *rand.Rand, s Schedule) (all []faults.Step) {
	ttl := s.MaxTTL()
	for at := within(r, 2*ttl); at < s.Storm; at += within(r, 4*ttl) {
		all = append(all, wave(r, s, at, 1+r.IntN(s.Masters), ttl)...)
	}
	return all
}

// losses makes all masters lose everything at about the same time, and repeats that after they have been up for a
// while.
func losses(r *rand.Rand, s Schedule) (all []faults.Step) {
	for at := within(r, s.Storm/2); at < s.Storm; at += s.Window() + within(r, s.Storm) {
		all = append(all, wave(r, s, at, s.Masters, 50*time.Millisecond)...)
	}
	return all
}

func wave(r *rand.Rand, s Schedule, at time.Duration, n int, while time.Duration) (all []faults.Step) {
	for _, m := range r.Perm(s.Masters)[:n] {
		all = append(all, faults.Step{
			Fault: faults.KillMaster, On: faults.Masters, Targets: []int{m}, At: at + within(r, while),
			For: within(r, 50*time.Millisecond),
		})
	}
	return all
}

// greedy makes a client hold each lock until it expires and retry soon.
func greedy(_ *rand.Rand, _ int, c *Client) {
	c.Greedy, c.Keepalive = true, false
	c.RetryMin, c.RetryMax = 5*time.Millisecond, 50*time.Millisecond
}

// distance slows the paths of every second client to all masters.
func distance(r *rand.Rand, s Schedule) (all []faults.Step) {
	for c := 1; c < len(s.Clients); c += 2 {
		way := 15*time.Millisecond + within(r, 8*time.Millisecond) // the round trip stays below the least node timeout
		all = append(all, faults.Step{
			Fault: SlowPath, On: faults.Masters, Targets: s.all(), Paths: []int{c}, At: 1, For: s.Storm,
			Severity: faults.Severity{Delay: way, Jitter: within(r, time.Millisecond)},
		})
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

func death(r *rand.Rand, s Schedule) []faults.Step {
	return []faults.Step{
		{Fault: faults.FreezeClient, On: faults.Clients, Targets: []int{0}, At: within(r, s.Storm/2), For: s.Storm},
	}
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
func parties(r *rand.Rand, s Schedule) (all []faults.Step) {
	for at := s.Move / 2; at < s.Storm; at += s.Move { // at first all clients connect
		add := func(fault string, client, master int, least, most time.Duration) {
			delay := between(r, [2]time.Duration{least, most})
			all = append(all, faults.Step{
				Fault: fault, On: faults.Masters, Targets: []int{master}, Paths: []int{client}, At: at, For: s.Move - 1,
				Severity: faults.Severity{Delay: delay, Jitter: delay / 4},
			})
		}
		masters := r.Perm(s.Masters)
		for c := range s.Clients {
			for part, m := range masters[:3] {
				switch [2]int{c % 3, part} {
				case [2]int{0, 1}, [2]int{0, 2}:
					add(faults.BlackHoleCommands, c, m, 0, 0)
				case [2]int{1, 2}:
					add(SlowPath, c, m, 10*time.Millisecond, 40*time.Millisecond)
				case [2]int{2, 0}:
					add(SlowPath, c, m, 200*time.Millisecond, 500*time.Millisecond)
				case [2]int{2, 2}:
					add(SlowPath, c, m, 80*time.Millisecond, 300*time.Millisecond)
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
func islands(r *rand.Rand, s Schedule) (all []faults.Step) {
	for c := range s.Clients[:2] {
		for at := within(r, s.MaxTTL()); at < s.Storm; at += within(r, 2*s.MaxTTL()) {
			length := s.Clients[c].TTL + within(r, 2*s.MaxTTL())
			for _, m := range r.Perm(s.Masters)[:s.Masters/2+1+r.IntN(s.Masters/2+1)] {
				all = append(all, cutOff(r, c, m, at, length))
			}
			at += length
		}
	}
	return all
}

// cutOff cuts a client off from a master, in one direction or both.
func cutOff(r *rand.Rand, client, master int, at, length time.Duration) faults.Step {
	return faults.Step{
		Fault: blackHoles[r.IntN(len(blackHoles))], On: faults.Masters, Targets: []int{master}, Paths: []int{client}, At: at,
		For: length,
	}
}

// twin gives the first client one master under two addresses.
func twin(_ *rand.Rand, i int, c *Client) { c.Twin = i == 0 }

// farTwin cuts the first client off, from time to time, from the one master that it has under a single address.
func farTwin(r *rand.Rand, s Schedule) (all []faults.Step) {
	for at := within(r, time.Second); at < s.Storm; at += within(r, time.Second) {
		step := cutOff(r, 0, 1, at, within(r, 3*time.Second))
		all = append(all, step)
		at = step.Until()
	}
	return all
}

// settled makes a client hold some locks for a long time under a name that no other client wants.
func settled(_ *rand.Rand, _ int, c *Client) {
	c.Keepalive, c.Own, c.Greedy, c.Stay = true, true, true, 3*c.TTL
}

// wipes has all masters lose all data at once.
func wipes(r *rand.Rand, s Schedule) (all []faults.Step) {
	for at := s.MaxTTL()/2 + within(r, s.MaxTTL()); at < s.Storm; at += 2*s.MaxTTL() + within(r, s.Storm) {
		all = append(all, faults.Step{Fault: faults.FlushAll, On: faults.Masters, Targets: s.all(), At: at})
	}
	return all
}
