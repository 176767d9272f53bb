package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// FaultKind is what a fault does.
type FaultKind string

// The faults of servers, and of a client: Freeze.
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

// Further faults of servers, which only scenarios have.
const (
	CrashKept   FaultKind = "crashed, with all that it had when it restarts"
	CrashTail   FaultKind = "crashed, without its last second when it restarts"
	Full        FaultKind = "out of memory"
	Follow      FaultKind = "a replica of another master"
	Disconnect  FaultKind = "connections closed"
	CutOff      FaultKind = "cut off: connections broken, new ones refused"
	ResetWrites FaultKind = "resetting connections at their first command"
)

// Kill ends a client's process at a Moment, or at once. Another life of the client begins at the end of the fault.
const Kill FaultKind = "killed"

// Jump sets a clock: of a master by which its keys expire, of a client its time of day. Pace makes one run at Rate, and
// in the end as it ran before, from what it shows then.
const (
	Jump FaultKind = "clock set"
	Pace FaultKind = "clock running"
)

// The faults of a path.
const (
	BlackHole FaultKind = "black hole"
	CutTo     FaultKind = "cut off, towards the master only"
	CutFrom   FaultKind = "cut off, from the master only"
	Delay     FaultKind = "slow"
	Loss      FaultKind = "losing segments"
	Reset     FaultKind = "connections reset"
	Trickle   FaultKind = "trickling" // only scenarios have it
)

// Fault befalls a master, a client, or the path between the two, from At until Until after the beginning of the run.
type Fault struct {
	Kind           FaultKind
	Name           string // what a scenario calls it
	At, Until      time.Duration
	Master, Client int // -1: none
	Delay, Jitter  time.Duration
	Loss           float64
	Reply          string
	Step           time.Duration // of a Jump
	// Back: a Delay befalls the answers only.
	Back bool
	// Breaks: what a path did not let through is lost with its connections when it is open again. Else it arrives late.
	Breaks bool
	// Every is how soon it happens again, until Until; 0: it happens once.
	Every time.Duration
	// Rate is that of Pace.
	Rate float64
	// Peer is whom a master follows.
	Peer int
	// Moment is when it befalls a client: the next such moment after At. "" is at once.
	Moment Moment
}

// split sorts kinds into those of servers and those of paths: a master can suffer one of each at once.
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

// writes are the commands that such an answer concerns.
var writes = []string{"SET", "DEL", "UNLINK", "GETDEL", "EXPIRE", "PEXPIRE", "PUBLISH", "ZADD", "ZREM", "PEXPIREAT"}

// What a master refuses that is out of memory, and what a replica does: of the commands that the scripts send.
var (
	takeMemory = []string{"SET", "ZADD"}
	change     = []string{"SET", "DEL", "PEXPIRE", "PEXPIREAT", "ZADD", "ZREM", "ZREMRANGEBYSCORE"}
)

// What a trickling path passes on at a time: see package proxy.
const (
	piecesUp, gapUp     = 16, 2 * time.Millisecond
	piecesDown, gapDown = 4, 5 * time.Millisecond
)

// tail is what a CrashTail loses.
const tail = time.Second

// What the keys begin with in which the masters count fencing tokens, and those with the intents of waiting writers.
const (
	counters = "redlock:fence:"
	intents  = "redlock:intents:"
)

// draw settles how long and how bad the fault is.
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
		way := "each way"
		if f.Back {
			way = "on the way back"
		}
		text = fmt.Sprintf("slow by %v to %v %s", round(f.Delay), round(f.Delay+f.Jitter), way)
	case Loss:
		text = fmt.Sprintf("losing %.0f%% of the segments", 100*f.Loss)
	case Jump:
		text = fmt.Sprintf("its clock is set by %v", round(f.Step))
	case Pace:
		text = fmt.Sprintf("its clock runs at %.3f", f.Rate)
	case Follow:
		text = fmt.Sprintf("a replica of master %d", f.Peer)
	}
	if f.Moment != AtOnce {
		text += fmt.Sprintf(", the next time when it is %s", f.Moment)
	}
	if f.Breaks {
		text += ", to break its connections"
	}
	if f.Every > 0 {
		text += fmt.Sprintf(", every %v", f.Every)
	}
	return text
}

// harmless: a client's time of day is set, on which nothing may depend but the least fencing token, or its clock runs
// at another rate, for which the lock has a budget.
func (f Fault) harmless() bool { return (f.Kind == Jump || f.Kind == Pace) && f.Client >= 0 }

// death: a client stops for good.
func (f Fault) death(s Schedule) bool { return f.Kind == Freeze && f.Client >= 0 && f.Until >= s.Storm }

// where names what the fault befalls.
func (f Fault) where() string {
	switch {
	case f.Client < 0:
		return fmt.Sprintf("master %d", f.Master)
	case f.Master < 0:
		return fmt.Sprintf("client%d", f.Client+1)
	}
	return fmt.Sprintf("client%d-%d", f.Client+1, f.Master)
}
