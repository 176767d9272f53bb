package simulation

import (
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/simnet"
)

// A harm is what a kind of fault does to a server, and how it ends. Without heal it is over at once.
type harm struct {
	inject func(f Fault, m *simnet.Master)
	heal   func(m *simnet.Master)
}

// ofServers are the harms of servers.
var ofServers = map[FaultKind]harm{
	Freeze:      {func(_ Fault, m *simnet.Master) { m.Freeze() }, (*simnet.Master).Thaw},
	Crash:       {func(_ Fault, m *simnet.Master) { m.Crash() }, (*simnet.Master).Restart},
	Refuse:      {func(_ Fault, m *simnet.Master) { m.Refuse() }, (*simnet.Master).Accept},
	Reply:       {func(f Fault, m *simnet.Master) { m.Reply(f.Reply, writes...) }, (*simnet.Master).Recover},
	Restart:     {inject: func(_ Fault, m *simnet.Master) { m.Restart() }},
	ScriptFlush: {inject: func(_ Fault, m *simnet.Master) { m.FlushScripts() }},
	Evict:       {inject: func(_ Fault, m *simnet.Master) { m.Evict(counters) }},
	Wipe:        {inject: func(_ Fault, m *simnet.Master) { m.Wipe() }},
	Jump:        {inject: func(f Fault, m *simnet.Master) { m.Jump(f.Step) }},
	Reset:       {inject: func(_ Fault, m *simnet.Master) { m.Reset() }},
}

// ofPaths are the harms of paths, which Heal ends.
var ofPaths = map[FaultKind]func(f Fault, l *simnet.Link){
	BlackHole: func(_ Fault, l *simnet.Link) { l.BlackHole() },
	CutTo:     func(_ Fault, l *simnet.Link) { l.Cut(simnet.ToMaster) },
	CutFrom:   func(_ Fault, l *simnet.Link) { l.Cut(simnet.FromMaster) },
	Delay:     func(f Fault, l *simnet.Link) { l.Delay(f.Delay, f.Jitter) },
	Loss:      func(f Fault, l *simnet.Link) { l.Loss(f.Loss) },
}

// inject injects the fault, or else heals it.
func (f Fault) inject(r *run, begins bool) {
	onPath := ofPaths[f.Kind]
	switch server := ofServers[f.Kind]; {
	case f.Master < 0:
		f.injectClient(r, begins)
	case onPath != nil && begins:
		onPath(f, f.link(r))
	case onPath != nil:
		f.link(r).Heal()
	case begins:
		server.inject(f, r.world.Master(f.Master))
	case server.heal != nil:
		server.heal(r.world.Master(f.Master))
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

func (f Fault) link(r *run) *simnet.Link {
	if f.Client >= 0 {
		return r.hosts[f.Client].To(f.Master)
	}
	return r.world.Master(f.Master).Link
}

func round(d time.Duration) time.Duration {
	if d > 10*time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}

func isCounter(key string) bool { return strings.HasPrefix(key, counters) }
