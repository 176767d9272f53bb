package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock/internal/simnet"
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
)

// The faults of a path.
const (
	BlackHole FaultKind = "black hole"
	CutTo     FaultKind = "cut off, towards the master only"
	CutFrom   FaultKind = "cut off, from the master only"
	Delay     FaultKind = "slow"
	Loss      FaultKind = "losing segments"
	Reset     FaultKind = "connections reset"
)

// Fault befalls a master, a client, or the path between the two, from At until Until after the beginning of the run.
type Fault struct {
	Kind           FaultKind
	At, Until      time.Duration
	Master, Client int // -1: none
	Delay, Jitter  time.Duration
	Loss           float64
	Reply          string
}

// split sorts kinds into those of servers and those of paths: a master can suffer one of each at once.
func split(kinds []FaultKind) (server, path []FaultKind) {
	for _, k := range kinds {
		switch k {
		case Freeze, Crash, Restart, Refuse, Reply, ScriptFlush, Evict:
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
var writes = []string{"SET", "DEL", "UNLINK", "GETDEL", "EXPIRE", "PEXPIRE", "PUBLISH", "HSET", "ZADD", "ZREM", "PEXPIREAT"}

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
	case Restart, Reset, ScriptFlush, Evict:
		f.Until = f.At
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
	}
	return text
}

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

// begin lets the fault happen.
func (f Fault) begin(w *simnet.Net, hosts []*simnet.Host) {
	switch f.Kind {
	case Freeze:
		if f.Client >= 0 {
			hosts[f.Client].Freeze()
		} else {
			w.Master(f.Master).Freeze()
		}
	case Crash:
		w.Master(f.Master).Crash()
	case Restart:
		w.Master(f.Master).Restart()
	case Refuse:
		w.Master(f.Master).Refuse()
	case Reply:
		w.Master(f.Master).Reply(f.Reply, writes...)
	case ScriptFlush:
		w.Master(f.Master).FlushScripts()
	case Evict:
		w.Master(f.Master).Evict(counters)
	case Reset:
		w.Master(f.Master).Reset()
	case BlackHole:
		f.link(w, hosts).BlackHole()
	case CutTo:
		f.link(w, hosts).Cut(simnet.ToMaster)
	case CutFrom:
		f.link(w, hosts).Cut(simnet.FromMaster)
	case Delay:
		f.link(w, hosts).Delay(f.Delay, f.Jitter)
	case Loss:
		f.link(w, hosts).Loss(f.Loss)
	}
}

// end ends it.
func (f Fault) end(w *simnet.Net, hosts []*simnet.Host) {
	switch f.Kind {
	case Freeze:
		if f.Client >= 0 {
			hosts[f.Client].Thaw()
		} else {
			w.Master(f.Master).Thaw()
		}
	case Crash:
		w.Master(f.Master).Restart()
	case Refuse:
		w.Master(f.Master).Accept()
	case Reply:
		w.Master(f.Master).Recover()
	case BlackHole, CutTo, CutFrom, Delay, Loss:
		f.link(w, hosts).Heal()
	}
}

func (f Fault) link(w *simnet.Net, hosts []*simnet.Host) *simnet.Link {
	if f.Client >= 0 {
		return hosts[f.Client].To(f.Master)
	}
	return w.Master(f.Master).Link
}

func round(d time.Duration) time.Duration {
	if d > 10*time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}
