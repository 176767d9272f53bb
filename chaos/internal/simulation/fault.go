package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// FaultKind says what a fault does.
type FaultKind string

// The faults of servers. Freeze is also a fault of clients.
const (
	Freeze      FaultKind = "frozen"
	Crash       FaultKind = "crashed, empty when it restarts"
	Restart     FaultKind = "restarted, empty"
	Refuse      FaultKind = "refusing connections"
	Reply       FaultKind = "answering"
	ScriptFlush FaultKind = "forgot its scripts"
	Evict       FaultKind = "forgot its counters"
	Wipe        FaultKind = "forgot everything, without a restart"
)

// Jump sets a clock: the one by which a master's keys expire, or a client's time of day.
const Jump FaultKind = "clock set"

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

// split sorts kinds into those of servers and those of paths. A master can suffer one of each at the same time.
func split(kinds []FaultKind) (server, path []FaultKind) {
	for _, k := range kinds {
		switch k {
		case Freeze, Crash, Restart, Refuse, Reply, ScriptFlush, Evict, Wipe, Jump:
			server = append(server, k)
		default:
			path = append(path, k)
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

// draw chooses how long the fault lasts and how severe it is.
func (f *Fault) draw(r *rand.Rand, ttl time.Duration, mild bool) {
	f.Until = f.At + within(r, ttl)
	switch f.Kind {
	case Freeze:
		if r.IntN(3) == 0 {
			f.Until = f.At + within(r, 2*ttl+time.Second)
		}
	case Crash:
		if r.IntN(2) == 0 {
			f.Until = f.At + within(r, 20*time.Millisecond)
		}
	case Restart, Reset, ScriptFlush, Evict, Wipe:
		f.Until = f.At
	case Jump:
		f.Until = f.At
		f.Step = ttl/2 + within(r, 3*ttl)
		if r.IntN(2) == 0 {
			f.Step = -f.Step
		}
	case Reply:
		f.Reply = replies[r.IntN(len(replies))]
	case Delay:
		f.Until += within(r, 3*ttl)
		f.Delay = within(r, 20*time.Millisecond)
		f.Jitter = within(r, 20*time.Millisecond)
		if !mild && r.IntN(3) == 0 {
			f.Delay, f.Jitter = within(r, 400*time.Millisecond), within(r, 400*time.Millisecond)
		}
	case Loss:
		f.Until += within(r, 3*ttl)
		f.Loss = 0.02 + 0.5*r.Float64()*r.Float64()
	}
}

func (f Fault) String() string {
	text := string(f.Kind)
	switch f.Kind {
	case Reply:
		text = fmt.Sprintf("answers writes with %q", f.Reply)
	case Delay:
		text = fmt.Sprintf("slow by %v to %v each way", round(f.Delay), round(f.Delay+f.Jitter))
	case Loss:
		text = fmt.Sprintf("losing %.0f%% of the segments", 100*f.Loss)
	case Jump:
		text = fmt.Sprintf("its clock is set by %v", round(f.Step))
	}
	return text
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
