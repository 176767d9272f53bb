package simulation

import (
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/simnet"
)

// inject injects the fault.
func (f Fault) inject(r *run) {
	if f.Client >= 0 && f.Master < 0 {
		f.injectClient(r)
		return
	}
	m := r.world.Master(f.Master)
	switch f.Kind {
	case Freeze:
		m.Freeze()
	case Crash, CrashTail:
		m.Crash()
	case CrashKept:
		m.Stop()
	case Restart:
		m.Restart()
	case Refuse:
		m.Refuse()
	case Reply:
		m.Reply(f.Reply, writes...)
	case Full:
		m.Reply(replies[2], takeMemory...)
	case Follow:
		m.Load(r.world.Master(f.Peer).Image())
		m.Recover()
		m.Reply(replies[1], change...)
	case ScriptFlush:
		m.FlushScripts()
	case Evict:
		m.Evict(counters)
	case Wipe:
		m.Wipe()
	case Jump:
		m.Jump(f.Step)
	case Pace:
		m.Rate(f.Rate)
	case Reset:
		m.Reset()
	case Disconnect:
		m.Disconnect()
	case CutOff:
		m.Refuse()
		m.Reset()
	default:
		f.onPath(f.link(r))
	}
}

func (f Fault) onPath(l *simnet.Link) {
	switch f.Kind {
	case BlackHole:
		l.BlackHole()
	case CutTo:
		l.Cut(simnet.ToMaster)
	case CutFrom:
		l.Cut(simnet.FromMaster)
	case Delay:
		l.DelayWay(simnet.FromMaster, f.Delay, f.Jitter)
		if !f.Back {
			l.DelayWay(simnet.ToMaster, f.Delay, f.Jitter)
		}
	case Loss:
		l.Loss(f.Loss)
	case Trickle:
		l.Trickle(simnet.ToMaster, piecesUp, gapUp)
		l.Trickle(simnet.FromMaster, piecesDown, gapDown)
	case ResetWrites:
		l.ResetAtWrite()
	}
}

// injectClient injects a fault of a client.
func (f Fault) injectClient(r *run) {
	l := r.lives[f.Client]
	switch {
	case f.Kind == Jump:
		l.host.Clock().Step(f.Step)
	case f.Kind == Pace:
		l.host.Clock().Rate(f.Rate)
	case f.Moment != AtOnce:
		l.setCrashPoint(f.Moment)
	case f.Kind == Freeze:
		r.freeze(l)
	case f.Kind == Kill:
		l.host.Kill()
	}
}

// heal heals the fault.
func (f Fault) heal(r *run) {
	if f.Client >= 0 && f.Master < 0 {
		f.healClient(r)
		return
	}
	m := r.world.Master(f.Master)
	switch f.Kind {
	case Freeze:
		m.Thaw()
	case Crash, CrashKept:
		m.Restart()
	case CrashTail:
		m.Restart()
		m.Load(r.images[f.Master])
	case Refuse, CutOff:
		m.Accept()
	case Reply, Full:
		m.Recover()
	case Follow:
		if peer := r.world.Master(f.Peer); peer.Up() {
			m.Load(peer.Image())
		}
		m.Recover()
	case Pace:
		m.Rate(r.schedule.Rates[f.Master])
	case BlackHole, CutTo, CutFrom, Delay, Loss, Trickle, ResetWrites:
		if f.Breaks {
			m.Reset()
		}
		f.link(r).Heal()
	}
}

// healClient heals a fault of a client.
func (f Fault) healClient(r *run) {
	switch l := r.lives[f.Client]; f.Kind {
	case Freeze:
		l.setCrashPoint(AtOnce)
		if l.host.Frozen() {
			r.thaw(l)
		}
	case Kill:
		r.revive(f.Client)
	case Pace:
		l.host.Clock().Rate(r.schedule.Clients[f.Client].Rate)
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
