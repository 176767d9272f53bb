package faults

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/aof"
)

// The faults of a master's process.
const (
	KillMaster     = "kill-master"
	KillMasterKept = "kill-master-kept"
	KillMasterTail = "kill-master-tail"
	PauseMaster    = "pause-master"
)

var ofProcess = []definition{
	onMasters(KillMaster, Traits{Loses: aof.Everything, Mute: true, Restarts: true, Forgets: true}, crash(aof.Everything),
		"SIGKILL; it comes back empty"),
	onMasters(KillMasterKept, Traits{Loses: aof.Nothing, Mute: true, Restarts: true}, crash(aof.Nothing),
		"SIGKILL; with appendfsync always, it comes back with all that it had"),
	onMasters(KillMasterTail, Traits{Loses: aof.Tail, Mute: true, Restarts: true, Forgets: true}, crash(aof.Tail),
		"SIGKILL; with appendfsync everysec, it comes back without the last second of its writes"),
	onMasters(PauseMaster, Traits{Mute: true}, func(m MasterControl) Effect { return Effect{nil, m.Freeze, m.Thaw} },
		"frozen: connections stay open and silent; thawed, it executes all that was sent meanwhile"),
}

func crash(loss aof.Loss) func(MasterControl) Effect {
	return func(m MasterControl) Effect {
		return Effect{m.CanLose(loss), m.Kill, func(ctx context.Context, master int) error {
			if err := m.Lose(ctx, master, loss); err != nil {
				return err
			}
			return m.Start(ctx, master)
		}}
	}
}
