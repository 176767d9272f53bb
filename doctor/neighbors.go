package doctor

import (
	"fmt"
	"strings"
)

var neighborRules = []rule{
	{
		title: "was flushed", severity: Warning,
		when:  "`commandstats` counts FLUSHALL or FLUSHDB",
		why:   "It deletes all locks. Their holders do not notice, and another client may get them.",
		fix:   "forbid it: ACL SETUSER USER -flushall -flushdb",
		check: each(func(_ *exam, m *master) string { return m.executed("flushall", "flushdb") }),
	},
	{
		title: "KEYS is used", severity: Warning,
		when:  "`commandstats` counts KEYS",
		why:   "It reads all keys in one step. Meanwhile the server answers no request for a lock.",
		fix:   "use SCAN; forbid it: ACL SETUSER USER -keys",
		check: each(func(_ *exam, m *master) string { return m.executed("keys") }),
	},
	{
		title: "was configured at run time", severity: Note,
		when:  "`commandstats` counts CONFIG SET",
		why:   "After a restart it may run with other settings than those examined here.",
		fix:   "CONFIG REWRITE, or bring redis.conf in line",
		check: each(func(_ *exam, m *master) string { return m.executed("config|set") }),
	},
	{
		title: "a lock without an end", severity: Warning,
		when: "a key without a TTL that is a lock of redlock, or a string whose name contains \"lock\"",
		why:  "If its holder died, the name stays locked forever.",
		fix:  "redlock status NAME shows the holder; if the holder no longer runs: DEL NAME",
		check: each(func(_ *exam, m *master) string {
			const few = 5
			shown := m.keys.endless
			if len(shown) == 0 {
				return ""
			}
			more := ""
			if len(shown) > few {
				shown, more = shown[:few], fmt.Sprintf(" and %d more", len(shown)-few)
			}
			return "without a TTL: " + strings.Join(shown, ", ") + more
		}),
	},
}

// executed returns how often the server executed these commands.
func (m *master) executed(commands ...string) string {
	var all []string
	for _, c := range commands {
		if n := m.calls(c); n != "" {
			all = append(all, fmt.Sprintf("%s: %s times", strings.ToUpper(strings.ReplaceAll(c, "|", " ")), n))
		}
	}
	return strings.Join(all, ", ")
}
