package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/replay"
)

// Claims compares what the holders of a name relied on in a run of a schedule of FencedMutexes with what the masters
// executed. A claim is a lock with its end, as its holder acquired or extended it. By the rules of
// model/exclusion.pml a majority of the masters must have voted for it at most TTL - drift before that end, and each
// vote must count: it is a grant, or an extension of a key that was there; and the server was up for the restart
// window, or the master had been reserved by an earlier vote. Claims returns the number of claims and those without
// such a majority.
//
// Claims accepts more than the rules. These speak of when a request was sent and when its reply was read; Claims knows
// when a master executed it. And a holder reads the end of its lock when it acquires it and just before it unlocks it,
// so the extensions in between are not looked at.
func (r *Result) Claims(name string) (claims int, unjustified []string) {
	x := &extraction{result: r, name: name, attempts: map[string]*attempt{}}
	x.read(r.Start.Add(time.Hour)) // all: a holder may learn of its last extension after the storm
	acquired := map[history.ID]history.Event{}
	for _, e := range r.Events {
		if e.Kind != history.Acquired && e.Kind != history.Extended || e.Name != name || e.T >= r.Schedule.Storm {
			continue
		}
		claims++
		if e.Kind == history.Acquired {
			acquired[e.ID()] = e
		}
		lock := acquired[e.ID()]
		validity := r.Schedule.trueTime(e.Client, lock.TTL-driftOf(lock.TTL))
		before := e.Until
		if e.Kind == history.Acquired {
			before = min(before, e.T+1)
		}
		if masters := x.justify(lock, e.Until-validity, before); len(masters) <= r.Schedule.Masters/2 {
			unjustified = append(unjustified, fmt.Sprintf(
				"%s %s %q at %v until %v, and in the %v before that only masters %v voted for it",
				e.Client, e.Kind, name, e.T, e.Until, validity, masters,
			))
		}
	}
	return claims, unjustified
}

// justify returns the masters that voted for a lock in a time. If several attempts of its client have its fencing
// token, it returns those of the attempt with the most.
func (x *extraction) justify(lock history.Event, from, before time.Duration) (masters []int) {
	validity := x.result.Schedule.trueTime(lock.Client, lock.TTL-driftOf(lock.TTL))
	for token, a := range x.attempts {
		if a.host != hostOf(lock) || a.rank(lock.Fence) == 0 {
			continue
		}
		var voted []int
		for _, v := range x.votes(token, validity) {
			at := v.at.Sub(x.result.Start)
			if at >= from-time.Microsecond && at < before { // times are rounded
				voted = append(voted, v.event.Master)
			}
		}
		slices.Sort(voted)
		if voted = slices.Compact(voted); len(voted) > len(masters) {
			masters = voted
		}
	}
	return masters
}

// votes returns the commands with a token that count as votes. validity is how long a vote reserves its master.
func (x *extraction) votes(token string, validity time.Duration) (counted []fencedCommand) {
	window := x.result.Schedule.Window()
	window -= 2 * driftOf(window) // what the server's clock may gain on the holder's, and the client's on the server's
	reserved := map[int]time.Time{}
	for _, c := range x.commands {
		if c.token != token || c.op == replay.Raise {
			continue
		}
		m := c.event.Master
		known := c.op == replay.Extend && c.at.Before(reserved[m])
		restarted := c.event.Began.After(x.result.Start) && c.at.Sub(c.event.Began) < window
		counts := (known || !restarted) && !c.restored
		if counts {
			counted = append(counted, c)
		}
		if counts || known {
			reserved[m] = c.at.Add(validity)
		}
	}
	return counted
}

// driftOf returns the default drift of a TTL.
func driftOf(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// trueTime returns how long a client's clock takes for d.
func (s Schedule) trueTime(client string, d time.Duration) time.Duration {
	for _, c := range s.Clients {
		if c.Name == client {
			return time.Duration(float64(d) / c.Rate)
		}
	}
	return d
}
