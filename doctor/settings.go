package doctor

import (
	"fmt"
	"time"
)

var settingRules = []rule{
	{
		id: ShortWindow, title: "the restart window is too short", severity: Danger,
		when: "the TTL that a lock on a master has left, plus its drift, is longer than the restart window; a warning if " +
			"the key is a string, which another program may have written",
		why: "A master that restarts and forgets this lock votes again before the lock ends.",
		fix: "WithMaxTTL (--max-ttl) with the longest TTL or minimum hold of all clients, in every client",
		check: func(e *exam) (hits []hit) {
			for _, m := range e.masters {
				h := hit{nodes: []string{m.name}, observed: e.outlasts("the lock", m.keys.lock)}
				if h.observed == "" {
					h.observed, h.severity = e.outlasts("what looks like a lock,", m.keys.likeLock), Warning
				}
				if h.observed != "" {
					hits = append(hits, h)
				}
			}
			return hits
		},
	},
}

// outlasts returns how long a key remains if that is longer than the restart window.
func (e *exam) outlasts(what string, k timedKey) string {
	window, drift := e.deployment.RestartWindow, e.deployment.Drift.Of(k.left)
	if !e.deployment.Guard || k.left+drift <= window {
		return ""
	}
	return fmt.Sprintf("%s %s has %v left; with a drift of %v that exceeds the restart window of %v",
		what, k.name, k.left.Round(time.Second), drift.Round(time.Millisecond), window)
}
