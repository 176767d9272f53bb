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
	// Paths are the clients whose paths to the targets have the fault; nil: it is one of the targets, or of all paths to
	// them. Only virtual time has paths.
	Paths []int `json:",omitempty"`
	// Severity is how severe the fault is. Only faults of the simulation have one.
	Severity Severity `json:",omitzero"`
}

// Severity is how severe a fault is. Each fault has only some of it.
type Severity struct {
	Delay, Jitter time.Duration // each way takes Delay, and up to Jitter more
	Loss          float64       // share of the segments that are lost
	Shift         time.Duration // how far a clock is set
	Reply         string        // the error that is answered
}

func (s Severity) String() string {
	text := ""
	if s.Delay > 0 {
		text += fmt.Sprintf(" by %v to %v each way", s.Delay, s.Delay+s.Jitter)
	}
	if s.Loss > 0 {
		text += fmt.Sprintf(" of %.0f%%", 100*s.Loss)
	}
	if s.Shift != 0 {
		text += fmt.Sprintf(" by %v", s.Shift)
	}
	if s.Reply != "" {
		text += fmt.Sprintf(" with %q", s.Reply)
	}
	return text
}

// Until returns when the fault ends.
func (s Step) Until() time.Duration { return s.At + s.For }

func (s Step) String() string {
	text := fmt.Sprintf("%s %v%v", s.Fault, s.Targets, s.Severity)
	if s.Paths != nil {
		text += fmt.Sprintf(" for clients %v", s.Paths)
	}
	if s.For > 0 {
		text += fmt.Sprintf(" for %v", s.For.Round(10*time.Millisecond))
	}
	if s.Outage {
		text += ", a majority"
	}
	return text
}

// Mode says how many masters a plan harms at once.
type Mode string

const (
	// Minority keeps a majority voting, except during outages. An outage hits a majority of the masters or all of them;
	// outages are 8 to 24 s apart. Minority is the default.
	Minority Mode = "minority"
	// Majority makes every fault of masters hit a majority of them or all. The next one comes when all may vote again.
	Majority Mode = "majority"
	// Everything harms any number of masters, by any number of faults at once.
	Everything Mode = "everything"
)

// Terms are what a plan keeps to.
type Terms struct {
	// Mode says how many masters are harmed at once; "" is [Minority].
	Mode Mode
	// Duration is the length of the storm. All steps begin and end within it.
	Duration time.Duration
	// Masters and Clients are how many there are.
	Masters, Clients int
	// Window is for how long after its heal a master counts as without a vote if it restarted, forgot something or had a
	// wrong clock.
	Window time.Duration
	// TTL is added to the length of every fault that must outlast a TTL ([Traits.Outlasts]).
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
	mostClient  = 2 * time.Second // how long a client stays dead; a frozen one stays frozen for up to a TTL more
	leastCalm   = 8 * time.Second // from one outage to the next
	mostCalm    = 24 * time.Second
	settling    = 250 * time.Millisecond // after a heal, before the target is hit again
	finale      = time.Second            // how long the last outage lasts at most
)

// Plan draws a schedule. It depends on nothing but the seed and the terms.
//
// A master counts as without a vote during a fault, and for Window after a fault that restarted it, made it forget
// something, or disturbed its clock. No target has two faults at once. Plan always spares one client. The storm ends
// with an outage, by a kill if there is one, so that the calm begins without a quorum. An outage breaks no assumption
// of the lock unless the mode is Majority or Everything. Every fault that suits the mode occurs if the duration allows.
func Plan(seed uint64, t Terms) []Step {
	if t.Mode == "" {
		t.Mode = Minority
	}
	p := &planner{
		Terms:  t,
		rng:    rand.New(rand.NewPCG(seed, 0x6e656d65736973)),
		voting: make([]time.Duration, t.Masters),
		master: make([]time.Duration, t.Masters),
		client: make([]time.Duration, t.Clients),
	}
	due := p.deck() // faults still to be seen, in random order; refilled when all have been
	outageAt := p.between(leastCalm, mostCalm)
	for at := firstStep; at < p.Duration; at += p.between(leastGap, mostGap) {
		if p.Mode == Minority && at >= outageAt && p.outage(at) {
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

type planner struct {
	Terms
	rng    *rand.Rand
	voting []time.Duration // from when each master votes again
	master []time.Duration // from when each master is up again
	client []time.Duration // from when each client is up again
	steps  []Step
}

// end adds the outage that ends the storm. All masters are up then.
func (p *planner) end() {
	outages := p.outages()
	if len(outages) == 0 {
		return
	}
	all := idle(p.master, p.Duration-finale)
	length := p.between(leastMaster, finale)
	targets := p.pick(all, p.number(p.spare()+1, p.Masters))
	p.steps = append(p.steps, Step{
		At: p.Duration - length, For: length, Fault: outages[0].Name, On: Masters, Targets: targets, Outage: true,
	})
}

// outages returns the faults that can make an outage. They silence a master and break no assumption. A kill, which is
// worst, comes first.
func (p *planner) outages() []Traits {
	return slices.DeleteFunc(Catalog(), func(t Traits) bool {
		return !slices.Contains(p.Faults, t.Name) || t.On != Masters || !t.Mute || t.Breaks != ""
	})
}

// deck returns the faults that suit the mode, shuffled.
func (p *planner) deck() []Traits {
	var deck []Traits
	for _, name := range p.Faults {
		t, ok := Lookup(name)
		if !ok {
			panic("faults: no plan for " + name)
		}
		if p.suits(t) {
			deck = append(deck, t)
		}
	}
	p.rng.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

func (p *planner) suits(t Traits) bool {
	switch {
	case t.On == Clients:
		return p.Clients > 1
	case t.NeedsPeer && p.Masters < 2:
		return false
	case p.Mode == Minority:
		return p.spare() > 0
	default:
		return true
	}
}

// step adds one fault, and reports whether there was room for it.
func (p *planner) step(at time.Duration, t Traits) bool {
	if t.On == Clients {
		return p.hitClient(at, t)
	}
	free := idle(p.voting, at)
	least, most := 1, p.Masters
	switch p.Mode {
	case Minority:
		most = p.spare() - (p.Masters - len(free))
	case Majority:
		least = p.spare() + 1
		if len(free) < p.Masters {
			return false
		}
	case Everything:
		free = idle(p.master, at)
		most = len(free)
	}
	if t.NeedsPeer {
		most = min(most, len(free)-1)
	}
	return least <= most && p.hitMasters(at, t, p.pick(free, p.number(least, most)))
}

// outage hits a majority of the masters with one fault, and reports whether enough of them were up.
func (p *planner) outage(at time.Duration) bool {
	outages := p.outages()
	up := idle(p.master, at)
	if len(outages) == 0 || len(up) <= p.spare() {
		return false
	}
	t := outages[p.rng.IntN(len(outages))]
	return p.hitMasters(at, t, p.pick(up, p.number(p.spare()+1, len(up))))
}

func (p *planner) hitClient(at time.Duration, t Traits) bool {
	free := idle(p.client, at)
	if len(free) < 2 {
		return false
	}
	length := p.length(t, mostClient)
	if at+length > p.Duration {
		return false
	}
	target := p.pick(free, 1)
	p.client[target[0]] = at + length + settling
	p.steps = append(p.steps, Step{At: at, For: length, Fault: t.Name, On: Clients, Targets: target})
	return true
}

func (p *planner) hitMasters(at time.Duration, t Traits, targets []int) bool {
	length := p.length(t, mostMaster)
	if at+length+settling > p.Duration-finale {
		return false
	}
	for _, m := range targets {
		p.master[m] = at + length + settling
		p.voting[m] = max(p.voting[m], p.master[m])
		if t.Lasts() {
			p.voting[m] = p.master[m] + p.Window
		}
	}
	p.steps = append(p.steps, Step{
		At: at, For: length, Fault: t.Name, On: Masters, Targets: targets, Outage: len(targets) > p.spare(),
	})
	return true
}

// length draws how long a fault lasts.
func (p *planner) length(t Traits, most time.Duration) time.Duration {
	if t.Instant {
		return 0
	}
	length := p.between(leastMaster, most)
	if t.Outlasts {
		length += p.TTL
	}
	return length
}

// number draws a number, both bounds included.
func (p *planner) number(least, most int) int { return least + p.rng.IntN(most-least+1) }

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

// idle returns the targets that no fault occupies at the given time.
func idle(until []time.Duration, at time.Duration) []int {
	var free []int
	for i, t := range until {
		if t <= at {
			free = append(free, i)
		}
	}
	return free
}
