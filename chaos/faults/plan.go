package faults

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Step is one fault at one or more targets at once, from At to At + For, counted from the beginning of the storm.
type Step struct {
	At, For time.Duration
	Fault   string
	On      Side
	Targets []int
	// Outage: more masters are hit than a quorum can spare.
	Outage bool
}

func (s Step) String() string {
	text := fmt.Sprintf("%s %v", s.Fault, s.Targets)
	if s.For > 0 {
		text += fmt.Sprintf(" for %v", s.For.Round(10*time.Millisecond))
	}
	if s.Outage {
		text += ", a majority"
	}
	return text
}

// Terms are what a plan keeps to.
type Terms struct {
	// Duration is the length of the storm. All steps begin and end within it.
	Duration time.Duration
	// Masters and Clients are how many there are.
	Masters, Clients int
	// Window is how long a master that was killed may not vote after its return.
	Window time.Duration
	// TTL is what a frozen client is frozen longer than.
	TTL time.Duration
	// Faults are the names of those available.
	Faults []string
}

// spare is how many masters a quorum can do without.
func (t Terms) spare() int { return (t.Masters - 1) / 2 }

const (
	firstStep   = 500 * time.Millisecond
	leastGap    = 200 * time.Millisecond
	mostGap     = 1500 * time.Millisecond
	leastMaster = 150 * time.Millisecond // how long a master stays dead or frozen
	mostMaster  = 3 * time.Second
	mostClient  = 2 * time.Second // how long a client stays dead, and how much longer than a TTL frozen
	leastCalm   = 8 * time.Second // from one outage to the next
	mostCalm    = 24 * time.Second
	settling    = 250 * time.Millisecond // after a heal, before the target is hit again
	finale      = time.Second            // how long the last outage lasts at most
)

// Plan draws a schedule. It depends on nothing but the seed and the terms.
//
// Except in an outage, no more masters are without a vote at a time than a quorum can spare, where a master is without
// a vote while it is dead or frozen and, after a kill, until its restart window has passed. An outage hits a majority
// or all of them at once; one comes 8 to 24 s after the other, and one ends the storm: what follows begins without a
// quorum. Of the clients, one is always left alone. Every fault available occurs, if the duration allows.
func Plan(seed uint64, t Terms) []Step {
	p := planner{
		Terms:  t,
		rng:    rand.New(rand.NewPCG(seed, 0x6e656d65736973)),
		voting: make([]time.Duration, t.Masters),
		master: make([]time.Duration, t.Masters),
		client: make([]time.Duration, t.Clients),
	}
	return p.plan()
}

type planner struct {
	Terms
	rng    *rand.Rand
	voting []time.Duration // from when each master votes again
	master []time.Duration // from when each master is up again
	client []time.Duration // from when each client is up again
	steps  []Step
}

func (p *planner) plan() []Step {
	if len(p.Faults) == 0 {
		return nil
	}
	due := p.deck() // faults still to be seen, in random order; refilled when all have been
	outageAt := p.between(leastCalm, mostCalm)
	for at := firstStep; at < p.Duration; at += p.between(leastGap, mostGap) {
		if at >= outageAt && p.outage(at) {
			outageAt = at + p.between(leastCalm, mostCalm)
			continue
		}
		for i, fault := range due {
			if p.step(at, fault) {
				due = slices.Delete(due, i, i+1)
				break
			}
		}
		if len(due) == 0 {
			due = p.deck()
		}
	}
	p.end()
	slices.SortStableFunc(p.steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return p.steps
}

// end adds the outage that ends the storm. All masters are up then.
func (p *planner) end() {
	kinds := p.onMasters()
	if len(kinds) == 0 {
		return
	}
	all := idle(p.master, p.Duration-finale)
	n := p.spare() + 1 + p.rng.IntN(p.Masters-p.spare())
	length := p.between(leastMaster, finale)
	p.steps = append(p.steps, Step{
		At: p.Duration - length, For: length, Fault: kinds[0], On: Masters, Targets: p.pick(all, n), Outage: true,
	})
}

// onMasters returns the faults of masters that are available; a kill, which is worse, comes first.
func (p *planner) onMasters() []string {
	var kinds []string
	for _, f := range []string{KillMaster, PauseMaster} {
		if slices.Contains(p.Faults, f) {
			kinds = append(kinds, f)
		}
	}
	return kinds
}

func (p *planner) deck() []string {
	deck := slices.Clone(p.Faults)
	p.rng.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

// step adds one fault that the quorum can spare, and reports whether there was room for it.
func (p *planner) step(at time.Duration, fault string) bool {
	switch fault {
	case KillMaster, PauseMaster:
		free := idle(p.voting, at)
		room := p.spare() - (p.Masters - len(free))
		if room <= 0 {
			return false
		}
		return p.hitMasters(at, fault, p.pick(free, 1+p.rng.IntN(room)), false)
	case KillClient, FreezeClient:
		free := idle(p.client, at)
		if len(free) < 2 {
			return false
		}
		length := p.between(leastMaster, mostClient)
		if fault == FreezeClient {
			length += p.TTL
		}
		if at+length > p.Duration {
			return false
		}
		target := p.pick(free, 1)
		p.client[target[0]] = at + length + settling
		p.steps = append(p.steps, Step{At: at, For: length, Fault: fault, On: Clients, Targets: target})
		return true
	default:
		panic("faults: no plan for " + fault)
	}
}

// outage hits a majority of the masters with one fault, and reports whether enough of them were up.
func (p *planner) outage(at time.Duration) bool {
	kinds := p.onMasters()
	up := idle(p.master, at)
	least := p.spare() + 1
	if len(kinds) == 0 || len(up) < least {
		return false
	}
	n := least + p.rng.IntN(len(up)-least+1)
	return p.hitMasters(at, kinds[p.rng.IntN(len(kinds))], p.pick(up, n), true)
}

func (p *planner) hitMasters(at time.Duration, fault string, targets []int, outage bool) bool {
	length := p.between(leastMaster, mostMaster)
	if at+length+settling > p.Duration-finale {
		return false
	}
	for _, m := range targets {
		p.master[m] = at + length + settling
		p.voting[m] = max(p.voting[m], p.master[m])
		if fault == KillMaster {
			p.voting[m] = p.master[m] + p.Window
		}
	}
	p.steps = append(p.steps, Step{At: at, For: length, Fault: fault, On: Masters, Targets: targets, Outage: outage})
	return true
}

func (p *planner) between(least, most time.Duration) time.Duration {
	return least + time.Duration(p.rng.Int64N(int64(most-least)))
}

// pick draws n of the targets, in order.
func (p *planner) pick(from []int, n int) []int {
	from = slices.Clone(from)
	p.rng.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	from = from[:n]
	slices.Sort(from)
	return from
}

// idle returns whom nothing occupies any more at the given time.
func idle(until []time.Duration, at time.Duration) []int {
	var free []int
	for i, t := range until {
		if t <= at {
			free = append(free, i)
		}
	}
	return free
}
