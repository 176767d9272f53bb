package simulation

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/internal/simnet"
)

// The faults that only virtual time has. Profiles draw them in addition to those of package faults, scenarios do not.
const (
	RestartMaster     = "restart-master"
	RefuseConnections = "refuse-connections"
	RefuseWrites      = "refuse-writes"
	EvictCounters     = "evict-counters"
	SetClock          = "set-clock"
	ResetConnections  = "reset-connections"
	SlowPath          = "slow-path"
	LossyPath         = "lossy-path"
	SetTimeOfDay      = "set-time-of-day"
)

// An extra is such a fault: its traits, and what it does to its target. Without heal it is over at once.
type extra struct {
	faults.Traits
	inject func(t target, s faults.Severity)
	heal   func(t target)
}

// A target is a master and the path to it of all clients or of one, or a client.
type target struct {
	*simnet.Master
	path   *simnet.Link
	client *simnet.Host
}

func (t target) mend() { t.path.Heal() }

var extras = []extra{
	onMaster(RestartMaster, faults.Traits{Instant: true, Restarts: true, Forgets: true},
		func(t target, _ faults.Severity) { t.Restart() }, nil),
	onMaster(RefuseConnections, faults.Traits{},
		func(t target, _ faults.Severity) { t.Refuse() }, target.Accept),
	onMaster(RefuseWrites, faults.Traits{},
		func(t target, s faults.Severity) { t.Reply(s.Reply, writes...) }, target.Recover),
	onMaster(EvictCounters, faults.Traits{Instant: true, Forgets: true},
		func(t target, _ faults.Severity) { t.Evict(check.Counters) }, nil),
	onMaster(SetClock, faults.Traits{Instant: true, Breaks: "no clock of a master is set"},
		func(t target, s faults.Severity) { t.Jump(s.Shift) }, nil),
	onMaster(ResetConnections, faults.Traits{Instant: true},
		func(t target, _ faults.Severity) { t.Reset() }, nil),
	onMaster(SlowPath, faults.Traits{},
		func(t target, s faults.Severity) { t.path.Delay(s.Delay, s.Jitter) }, target.mend),
	onMaster(LossyPath, faults.Traits{},
		func(t target, s faults.Severity) { t.path.Loss(s.Loss) }, target.mend),
	{ // may influence nothing but the smallest fencing token
		faults.Traits{Name: SetTimeOfDay, On: faults.Clients, Instant: true},
		func(t target, s faults.Severity) { t.client.Clock().SetAhead(s.Shift) }, nil,
	},
}

func onMaster(name string, t faults.Traits, inject func(target, faults.Severity), heal func(target)) extra {
	t.Name, t.On = name, faults.Masters
	return extra{t, inject, heal}
}

// traitsOfExtras returns the traits of all extras.
func traitsOfExtras() (all []faults.Traits) {
	for _, x := range extras {
		all = append(all, x.Traits)
	}
	return all
}

// traitsOf returns the traits of a fault of a schedule.
func traitsOf(fault string) faults.Traits {
	if t, ok := faults.Lookup(fault); ok {
		return t
	}
	return extraNamed(fault).Traits
}

// extraNamed returns the extra of that name, and one without a name if there is none.
func extraNamed(fault string) (x extra) {
	if i := slices.IndexFunc(extras, func(x extra) bool { return x.Name == fault }); i >= 0 {
		x = extras[i]
	}
	return x
}

// fault returns the fault of a step that is an extra, or is one of paths.
func (r *run) fault(s faults.Step) *faults.Fault {
	x := extraNamed(s.Fault)
	switch {
	case x.Name != "":
		on := func(do func(target)) func(context.Context, int) error {
			return func(_ context.Context, i int) error {
				for _, t := range r.targets(s, i) {
					do(t)
				}
				return nil
			}
		}
		return &faults.Fault{Traits: x.Traits, Effect: faults.Effect{
			Inject: on(func(t target) { x.inject(t, s.Severity) }), Heal: on(x.heal),
		}}
	case s.Paths != nil:
		m := newMasters(r.world, r.schedule.Rates)
		for _, client := range s.Paths {
			m.paths = append(m.paths, r.lives[client].host)
		}
		all := faults.Of(m, nil)
		return all[slices.IndexFunc(all, func(f *faults.Fault) bool { return f.Name == s.Fault })]
	default:
		return nil
	}
}

// targets returns what a step hits of its target i.
func (r *run) targets(s faults.Step, i int) (all []target) {
	if s.On == faults.Clients {
		return []target{{client: r.lives[i].host}}
	}
	m := r.world.Master(i)
	for _, client := range s.Paths {
		all = append(all, target{Master: m, path: r.lives[client].host.To(i)})
	}
	if s.Paths == nil {
		all = append(all, target{Master: m, path: m.Link})
	}
	return all
}

// draws say how severe a fault is that a profile draws, and how long it lasts, if that is not a TTL at most.
var draws = map[string]func(s *faults.Step, r *rand.Rand, ttl time.Duration, mild bool){
	faults.PauseMaster:  longer,
	faults.FreezeClient: longer,
	faults.KillMaster: func(s *faults.Step, r *rand.Rand, _ time.Duration, _ bool) {
		if r.IntN(2) == 0 {
			s.For = within(r, 20*time.Millisecond)
		}
	},
	RefuseWrites: func(s *faults.Step, r *rand.Rand, _ time.Duration, _ bool) {
		s.Severity.Reply = replies[r.IntN(len(replies))]
	},
	SetClock: func(s *faults.Step, r *rand.Rand, ttl time.Duration, _ bool) {
		s.Severity.Shift = ttl/2 + within(r, 3*ttl)
		if r.IntN(2) == 0 {
			s.Severity.Shift *= -1
		}
	},
	SlowPath: func(s *faults.Step, r *rand.Rand, ttl time.Duration, mild bool) {
		s.For += within(r, 3*ttl)
		most := 20 * time.Millisecond
		if !mild && r.IntN(3) == 0 {
			most = 400 * time.Millisecond
		}
		s.Severity.Delay, s.Severity.Jitter = within(r, most), within(r, most)
	},
	LossyPath: func(s *faults.Step, r *rand.Rand, ttl time.Duration, _ bool) {
		s.For += within(r, 3*ttl)
		s.Severity.Loss = 0.02 + 0.5*r.Float64()*r.Float64()
	},
}

// longer makes a third of the faults longer than the TTL.
func longer(s *faults.Step, r *rand.Rand, ttl time.Duration, _ bool) {
	if r.IntN(3) == 0 {
		s.For = within(r, 2*ttl+time.Second)
	}
}

// drawn returns a step with its length and its severity.
func drawn(s faults.Step, r *rand.Rand, ttl time.Duration, mild bool) faults.Step {
	if traitsOf(s.Fault).Instant {
		s.For = 0
	} else {
		s.For = within(r, ttl)
	}
	if draw := draws[s.Fault]; draw != nil {
		draw(&s, r, ttl, mild)
	}
	return s
}

// ofPath reports whether a fault is one of the path to a master. A master can have one of these and another one at the
// same time.
func ofPath(fault string) bool {
	return slices.Contains([]string{
		SlowPath, LossyPath, ResetConnections, faults.BlackHole, faults.BlackHoleCommands, faults.BlackHoleAnswers,
	}, fault)
}

const (
	replyReadOnly = "READONLY You can't write against a read only replica."
	replyOOM      = "OOM command not allowed when used memory > 'maxmemory'."
)

var replies = []string{
	"LOADING Redis is loading the dataset in memory",
	replyReadOnly,
	replyOOM,
	"MISCONF Errors writing to the AOF file: No space left on device",
	"NOPERM this user has no permissions to run the command",
}

// writes are the commands that RefuseWrites refuses.
var writes = []string{"SET", "DEL", "UNLINK", "GETDEL", "EXPIRE", "PEXPIRE", "PUBLISH", "ZADD", "ZREM", "PEXPIREAT"}

// intents is the prefix of the keys with the intents of waiting writers.
const intents = "redlock:intents:"

// death reports whether a step stops a client for good.
func (s Schedule) death(step faults.Step) bool {
	return step.Fault == faults.FreezeClient && step.Until() >= s.Storm
}
