package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/simnet"
)

// FaultKind says what a fault does.
type FaultKind string

// The faults of servers. Freeze is also a fault of clients. Jump sets a clock: the one by which a master's keys expire,
// or a client's time of day.
const (
	Freeze      FaultKind = "frozen"
	Crash       FaultKind = "crashed, empty when it restarts"
	Restart     FaultKind = "restarted, empty"
	Refuse      FaultKind = "refusing connections"
	Reply       FaultKind = "answering"
	ScriptFlush FaultKind = "forgot its scripts"
	Evict       FaultKind = "forgot its counters"
	Wipe        FaultKind = "forgot everything, without a restart"
	Jump        FaultKind = "clock set"
)

// The faults of a path.
const (
	BlackHole FaultKind = "black hole"
	CutTo     FaultKind = "cut off, toward the master only"
	CutFrom   FaultKind = "cut off, from the master only"
	Delay     FaultKind = "slow"
	Loss      FaultKind = "losing segments"
	Reset     FaultKind = "connections reset"
)

// Fault is one harm of a profile to a master, a client, or the path between the two. It lasts from At to Until, counted
// from the start of the run. Scenarios have the faults of package faults instead.
type Fault struct {
	Kind           FaultKind
	At, Until      time.Duration
	Master, Client int // -1 for none
	Delay, Jitter  time.Duration
	Loss           float64
	Reply          string
	Step           time.Duration // how far a Jump sets the clock
}

// A harm is what a kind of fault is, in one place: what is drawn, what it does to its target, and what the checkers
// must know of it.
type harm struct {
	// onPath: it is one of a path, not of a server. A master can suffer one of each at the same time.
	onPath bool
	// draw draws how severe the fault is, and changes how long it lasts: without draw, a TTL at most.
	draw func(f *Fault, r *rand.Rand, ttl time.Duration, mild bool)
	// inject begins the fault, heal ends it. Without heal it is over at once.
	inject func(f Fault, t target)
	heal   func(t target)
	// text describes a fault whose kind does not say it all.
	text func(f Fault) string
	// lasting: for the restart window afterwards, the master does not vote, or has lost what it granted. forgets: it
	// forgets fence counters unnoticed. breaks: locks need not exclude each other any more.
	lasting, forgets, breaks bool
}

// A target is a master, and the path to it of all clients or of one.
type target struct {
	*simnet.Master
	path *simnet.Link
}

func (t target) mend() { t.path.Heal() }

var harms = map[FaultKind]harm{
	Freeze: {
		draw: func(f *Fault, r *rand.Rand, ttl time.Duration, _ bool) {
			if r.IntN(3) == 0 {
				f.Until = f.At + within(r, 2*ttl+time.Second)
			}
		},
		inject: func(_ Fault, t target) { t.Freeze() }, heal: target.Thaw,
	},
	Crash: {
		draw: func(f *Fault, r *rand.Rand, _ time.Duration, _ bool) {
			if r.IntN(2) == 0 {
				f.Until = f.At + within(r, 20*time.Millisecond)
			}
		},
		inject: func(_ Fault, t target) { t.Crash() }, heal: target.Restart, lasting: true,
	},
	Restart: {draw: atOnce, inject: func(_ Fault, t target) { t.Restart() }, lasting: true},
	Refuse:  {inject: func(_ Fault, t target) { t.Refuse() }, heal: target.Accept},
	Reply: {
		draw:   func(f *Fault, r *rand.Rand, _ time.Duration, _ bool) { f.Reply = replies[r.IntN(len(replies))] },
		inject: func(f Fault, t target) { t.Reply(f.Reply, writes...) }, heal: target.Recover,
		text: func(f Fault) string { return fmt.Sprintf("answers writes with %q", f.Reply) },
	},
	ScriptFlush: {draw: atOnce, inject: func(_ Fault, t target) { t.FlushScripts() }},
	Evict:       {draw: atOnce, inject: func(_ Fault, t target) { t.Evict(counters) }, lasting: true, forgets: true},
	Wipe:        {draw: atOnce, inject: func(_ Fault, t target) { t.Wipe() }, lasting: true, forgets: true, breaks: true},
	Jump: {
		draw: func(f *Fault, r *rand.Rand, ttl time.Duration, _ bool) {
			f.Until = f.At
			f.Step = ttl/2 + within(r, 3*ttl)
			if r.IntN(2) == 0 {
				f.Step = -f.Step
			}
		},
		inject: func(f Fault, t target) { t.Jump(f.Step) }, lasting: true, breaks: true,
		text: func(f Fault) string { return fmt.Sprintf("its clock is set by %v", round(f.Step)) },
	},
	BlackHole: {onPath: true, inject: func(_ Fault, t target) { t.path.BlackHole() }, heal: target.mend},
	CutTo:     {onPath: true, inject: func(_ Fault, t target) { t.path.Cut(simnet.ToMaster) }, heal: target.mend},
	CutFrom:   {onPath: true, inject: func(_ Fault, t target) { t.path.Cut(simnet.FromMaster) }, heal: target.mend},
	Delay: {
		onPath: true,
		draw: func(f *Fault, r *rand.Rand, ttl time.Duration, mild bool) {
			f.Until += within(r, 3*ttl)
			f.Delay = within(r, 20*time.Millisecond)
			f.Jitter = within(r, 20*time.Millisecond)
			if !mild && r.IntN(3) == 0 {
				f.Delay, f.Jitter = within(r, 400*time.Millisecond), within(r, 400*time.Millisecond)
			}
		},
		inject: func(f Fault, t target) { t.path.Delay(f.Delay, f.Jitter) }, heal: target.mend,
		text: func(f Fault) string {
			return fmt.Sprintf("slow by %v to %v each way", round(f.Delay), round(f.Delay+f.Jitter))
		},
	},
	Loss: {
		onPath: true,
		draw: func(f *Fault, r *rand.Rand, ttl time.Duration, _ bool) {
			f.Until += within(r, 3*ttl)
			f.Loss = 0.02 + 0.5*r.Float64()*r.Float64()
		},
		inject: func(f Fault, t target) { t.path.Loss(f.Loss) }, heal: target.mend,
		text: func(f Fault) string { return fmt.Sprintf("losing %.0f%% of the segments", 100*f.Loss) },
	},
	Reset: {onPath: true, draw: atOnce, inject: func(_ Fault, t target) { t.Reset() }},
}

func atOnce(f *Fault, _ *rand.Rand, _ time.Duration, _ bool) { f.Until = f.At }

// named returns the names of the kinds that are so.
func named(is func(harm) bool) (names []string) {
	for kind, h := range harms {
		if is(h) {
			names = append(names, string(kind))
		}
	}
	return names
}

// split sorts kinds into those of servers and those of paths.
func split(kinds []FaultKind) (server, path []FaultKind) {
	for _, k := range kinds {
		if harms[k].onPath {
			path = append(path, k)
		} else {
			server = append(server, k)
		}
	}
	return server, path
}

var replies = []string{
	"LOADING Redis is loading the dataset in memory",
	"READONLY You can't write against a read only replica.",
	"OOM command not allowed when used memory > 'maxmemory'.",
	"MISCONF Errors writing to the AOF file: No space left on device",
	"NOPERM this user has no permissions to run the command",
}

// writes are the commands to which a Reply fault applies.
var writes = []string{"SET", "DEL", "UNLINK", "GETDEL", "EXPIRE", "PEXPIRE", "PUBLISH", "ZADD", "ZREM", "PEXPIREAT"}

// counters and intents are the prefixes of the keys with the fence counters and with the intents of waiting writers.
const (
	counters = "redlock:fence:"
	intents  = "redlock:intents:"
)

func isCounter(key string) bool { return strings.HasPrefix(key, counters) }

// draw chooses how long the fault lasts and how severe it is.
func (f *Fault) draw(r *rand.Rand, ttl time.Duration, mild bool) {
	f.Until = f.At + within(r, ttl)
	if draw := harms[f.Kind].draw; draw != nil {
		draw(f, r, ttl, mild)
	}
}

// inject injects the fault, or else heals it.
func (f Fault) inject(r *run, begins bool) {
	if f.Master < 0 {
		f.injectClient(r, begins)
		return
	}
	t := target{r.world.Master(f.Master), r.world.Master(f.Master).Link}
	if f.Client >= 0 {
		t.path = r.hosts[f.Client].To(f.Master)
	}
	if h := harms[f.Kind]; begins {
		h.inject(f, t)
	} else if h.heal != nil {
		h.heal(t)
	}
}

func (f Fault) injectClient(r *run, begins bool) {
	switch l := r.lives[f.Client]; {
	case f.Kind == Jump && begins:
		l.host.Clock().Step(f.Step)
	case f.Kind == Freeze && begins:
		r.freeze(l)
	case f.Kind == Freeze && l.host.Frozen():
		r.thaw(l)
	}
}

func (f Fault) String() string {
	if text := harms[f.Kind].text; text != nil {
		return text(f)
	}
	return string(f.Kind)
}

// harmless reports whether the fault only sets a client's time of day, which may influence nothing but the smallest
// fencing token.
func (f Fault) harmless() bool { return f.Kind == Jump && f.Client >= 0 }

// death reports whether the fault stops a client for good.
func (f Fault) death(s Schedule) bool { return f.Kind == Freeze && f.Client >= 0 && f.Until >= s.Storm }

// where returns a name for what the fault harms.
func (f Fault) where() string {
	switch {
	case f.Client < 0:
		return fmt.Sprintf("master %d", f.Master)
	case f.Master < 0:
		return fmt.Sprintf("client%d", f.Client+1)
	}
	return fmt.Sprintf("client%d-%d", f.Client+1, f.Master)
}

func round(d time.Duration) time.Duration {
	if d > 10*time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}
