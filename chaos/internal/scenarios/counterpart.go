package scenarios

import (
	"time"

	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// counterpart is what a fault of the catalog is in virtual time.
type counterpart struct {
	// is how a reader is told of it, and without why there is none.
	is, without string
	// faults are those of the simulation: their kinds, without their targets and times.
	faults []simulation.Fault
	// back is what happens at the end besides, for a clock that is set forward again.
	back []simulation.Fault
	// peer: it wants another master.
	peer bool
	// gains is what a clock gains a second, if that depends on whose it is.
	gains func(target int) float64
}

const (
	slow    = 300 * time.Millisecond // see package proxy
	jitter  = 150 * time.Millisecond
	evicts  = 100 * time.Millisecond // how soon all is evicted again
	follows = 50 * time.Millisecond  // how soon a replica has what its master has
)

// counterparts are those of all faults, by name.
var counterparts = map[string]counterpart{
	faults.KillMaster:     one("crashed, empty when it restarts", simulation.Fault{Kind: simulation.Crash}),
	faults.KillMasterKept: one("crashed, with all that it had when it restarts", simulation.Fault{Kind: simulation.CrashKept}),
	faults.KillMasterTail: one("crashed, and back in the state of a second before", simulation.Fault{Kind: simulation.CrashTail}),
	faults.PauseMaster:    one("frozen", simulation.Fault{Kind: simulation.Freeze}),

	faults.FlushAll:        one("all its keys are gone", simulation.Fault{Kind: simulation.Wipe}),
	faults.FlushScripts:    one("all its scripts are gone", simulation.Fault{Kind: simulation.ScriptFlush}),
	faults.KillConnections: one("it closes all connections", simulation.Fault{Kind: simulation.Disconnect}),
	faults.OutOfMemory:     one("it refuses SET and ZADD", simulation.Fault{Kind: simulation.Full}),
	faults.EvictLocks:      one("all its keys are gone, every 100 ms", simulation.Fault{Kind: simulation.Wipe, Every: evicts}),
	faults.FollowMaster: {
		is:     "it has a copy of another's keys, a new one every 50 ms, and refuses writes",
		faults: []simulation.Fault{{Kind: simulation.Follow, Every: follows}}, peer: true,
	},

	faults.ClockForward: one("the same", simulation.Fault{Kind: simulation.Jump, Step: faults.Jump}),
	faults.ClockBack: {
		is:     "the same",
		faults: []simulation.Fault{{Kind: simulation.Jump, Step: -faults.Jump}},
		back:   []simulation.Fault{{Kind: simulation.Jump, Step: faults.Jump}},
	},
	faults.ClockFast:  one("the same", simulation.Fault{Kind: simulation.Pace, Rate: 1 + faults.Fast}),
	faults.ClockDrift: one("the same", simulation.Fault{Kind: simulation.Pace, Rate: 1 + faults.Drift}),

	faults.SlowLink:      one("the same", simulation.Fault{Kind: simulation.Delay, Delay: slow, Back: true}),
	faults.JitteryLink:   one("the same", simulation.Fault{Kind: simulation.Delay, Jitter: jitter}),
	faults.TricklingLink: one("16 bytes to the master every 2 ms, and 4 from it every 5 ms", simulation.Fault{Kind: simulation.Trickle}),
	faults.ResettingLink: one("the same", simulation.Fault{Kind: simulation.ResetWrites}),
	faults.CutLink:       one("the same", simulation.Fault{Kind: simulation.CutOff}),
	faults.SilentLink:    one("silence; new connections hang", simulation.Fault{Kind: simulation.BlackHole, Breaks: true}),
	faults.LostCommands:  one("silence towards the master; new connections hang", simulation.Fault{Kind: simulation.CutTo, Breaks: true}),
	faults.LostAnswers:   one("silence from the master; new connections hang", simulation.Fault{Kind: simulation.CutFrom, Breaks: true}),

	faults.BlackHole:         one("what is sent waits, or in half of the schedules for TCP to send it again", simulation.Fault{Kind: simulation.BlackHole}),
	faults.BlackHoleCommands: one("the same, towards the master only", simulation.Fault{Kind: simulation.CutTo}),
	faults.BlackHoleAnswers:  one("the same, from the master only", simulation.Fault{Kind: simulation.CutFrom}),
	faults.Unplug:            one("as black-hole: a host without a network gets no error", simulation.Fault{Kind: simulation.BlackHole}),

	faults.KillClient:          one("its connections end after what it has written, and it does nothing more", simulation.Fault{Kind: simulation.Kill}),
	faults.KillClientHolding:   one("the same", simulation.Fault{Kind: simulation.Kill, Moment: simulation.Holding}),
	faults.KillClientAcquiring: one("the same", simulation.Fault{Kind: simulation.Kill, Moment: simulation.Acquiring}),
	faults.KillClientReleasing: one("the same", simulation.Fault{Kind: simulation.Kill, Moment: simulation.Releasing}),
	faults.FreezeClient:        one("its clock stands still, and it reads and writes nothing", simulation.Fault{Kind: simulation.Freeze}),
	faults.FreezeClientHolding: one("the same, before it writes what the lock protects", simulation.Fault{Kind: simulation.Freeze, Moment: simulation.Writing}),
	faults.DriftClient: {
		is: "the same", faults: []simulation.Fault{{Kind: simulation.Pace}}, gains: faults.DriftOf,
	},
}

func one(is string, f simulation.Fault) counterpart {
	return counterpart{is: is, faults: []simulation.Fault{f}}
}

// counterpartOf returns what a fault is in virtual time. If there is nothing like it, that says why.
func counterpartOf(fault string) counterpart {
	c, ok := counterparts[fault]
	if !ok {
		return counterpart{without: "virtual time has no counterpart of it"}
	}
	return c
}

// planned are the faults of the simulation for one step of a plan.
func (c counterpart) planned(s faults.Step, masters int) (all []simulation.Fault) {
	put := func(like []simulation.Fault, target int, at, until time.Duration) {
		for _, f := range like {
			f.Name, f.At, f.Until = s.Fault, at, until
			f.Master, f.Client = target, -1
			if s.On == faults.Clients {
				f.Master, f.Client = -1, target
			}
			if c.peer {
				f.Peer = peer(target, s.Targets, masters)
			}
			if c.gains != nil {
				f.Rate = 1 + c.gains(target)
			}
			if f.Kind == simulation.Jump {
				f.Until = at
			}
			all = append(all, f)
		}
	}
	for _, target := range s.Targets {
		put(c.faults, target, s.At, s.At+s.For)
		put(c.back, target, s.At+s.For, s.At+s.For)
	}
	return all
}

// peer is the master that a master follows: the next one that follows none.
func peer(master int, targets []int, masters int) int {
	follows := make(map[int]bool)
	for _, t := range targets {
		follows[t] = true
	}
	for i := 1; i < masters; i++ {
		if other := (master + i) % masters; !follows[other] {
			return other
		}
	}
	return master
}
