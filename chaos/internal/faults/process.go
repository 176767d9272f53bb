package faults

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/aof"
)

// ofProcess returns the faults of a master's process.
func ofProcess(m MasterControl) []Fault {
	crash := func(name string, loss aof.Loss) Fault {
		return made(name, m.CanLose(loss), m.Kill, func(ctx context.Context, master int) error {
			if err := m.Lose(ctx, master, loss); err != nil {
				return err
			}
			return m.Start(ctx, master)
		})
	}
	return []Fault{
		crash(KillMaster, aof.Everything),
		crash(KillMasterKept, aof.Nothing),
		crash(KillMasterTail, aof.Tail),
		made(PauseMaster, nil, m.Freeze, m.Thaw),
	}
}
