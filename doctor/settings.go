package doctor

import (
	"fmt"
	"time"
)

var settingRules = []rule{
	{
		id: ShortWindow, title: "the restart window is too short", severity: Danger,
		when: "the TTL that a lock on a master has left, plus its drift, is longer than the restart window",
		why:  "A master that restarts and forgets this lock votes again before the lock ends.",
		fix:  "WithMaxTTL (--max-ttl) with the longest TTL or minimum hold of all clients, in every client",
		check: each(func(e *exam, m *master) string {
			window, left := e.deployment.RestartWindow, m.keys.longest
			drift := e.deployment.Drift.Of(left)
			if !e.deployment.Guard || left+drift <= window {
				return ""
			}
			return fmt.Sprintf("the lock %s has %v left; with a drift of %v that is longer than the restart window of %v",
				m.keys.longestKey, left.Round(time.Second), drift.Round(time.Millisecond), window)
		}),
	},
}
