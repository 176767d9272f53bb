// Package traffic is the clients of a run: processes of their own that lock, hold and unlock shared names, and write
// down what they believe. The harness starts, kills and freezes them; it talks to them in JSON lines on their standard
// input and output.
package traffic

import (
	"math/rand/v2"
	"time"
)

// The TTLs of the traffic. Locks of TTL end and are lost often; those of LongTTL outlive the crash and return of a
// master.
const (
	TTL     = time.Second
	LongTTL = 6 * time.Second
)

// Group is one shared name and how all workers use it.
type Group struct {
	// Name is the lock's name, without the prefix of the run.
	Name string
	// TTL is what it is locked with.
	TTL time.Duration
	// Keepalive: it is extended while held.
	Keepalive bool
	// Careless: a holder goes on for as long as it wanted, even when it was told of a loss.
	Careless bool
	// hold draws how long one holder wants to hold.
	hold func(*rand.Rand) time.Duration
}

// Groups is the traffic, the same for every kind of lock.
var Groups = []Group{
	// Extended while held, sometimes for much longer than a TTL.
	{Name: "kept", TTL: TTL, Keepalive: true, hold: mostly(shortHold, span{TTL, 5 * TTL / 2}, 0.2)},
	// Never extended, held for a moment: as many acquisitions and releases as contention allows.
	{Name: "plain", TTL: TTL, hold: mostly(span{0, 10 * time.Millisecond}, span{TTL / 2, TTL}, 0.02)},
	// Never extended and held for 1.6 times the TTL by everybody. The second holder comes after 1.0 TTL, the first one
	// unlocks at 1.6, while the second has 0.4 TTL to go: an unlock that does not look whose lock it removes lets a
	// third one in every time.
	{Name: "overstayed", TTL: TTL, Careless: true, hold: mostly(span{8 * TTL / 5, 8*TTL/5 + 1}, span{}, 0)},
	// Held for seconds on a TTL of seconds, so that whoever forgets it within that time is found out.
	{Name: "long", TTL: LongTTL, Keepalive: true, hold: mostly(shortHold, span{TTL, 4 * TTL}, 0.4)},
}

// Names returns the names of all groups under a prefix.
func Names(prefix string) []string {
	names := make([]string, len(Groups))
	for i, g := range Groups {
		names[i] = prefix + g.Name
	}
	return names
}

type span struct{ least, below time.Duration }

var shortHold = span{5 * time.Millisecond, 150 * time.Millisecond}

func (s span) draw(rng *rand.Rand) time.Duration {
	return s.least + time.Duration(rng.Int64N(int64(s.below-s.least)))
}

// mostly draws from usual, and with the given chance from rare.
func mostly(usual, rare span, chance float64) func(*rand.Rand) time.Duration {
	return func(rng *rand.Rand) time.Duration {
		if rng.Float64() < chance {
			return rare.draw(rng)
		}
		return usual.draw(rng)
	}
}
