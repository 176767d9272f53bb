package doctor

import (
	"fmt"
	"time"
)

var settingRules = []rule{
	{
		title: "the restart window is too short", severity: Danger,
		when: "a lock on a master has a longer TTL left than the restart window",
		why:  "A master that restarts and forgets this lock votes again before the lock ends.",
		fix:  "WithRestartWindow (--restart-window) with the largest TTL of all clients, plus 2 %, in every client",
		check: each(func(e *exam, m *master) string {
			window := e.deployment.RestartWindow
			if !e.deployment.Guard || m.keys.longest <= window {
				return ""
			}
			return fmt.Sprintf("the lock %s has %v left, and the restart window is %v",
				m.keys.longestKey, m.keys.longest.Round(time.Second), window)
		}),
	},
}
