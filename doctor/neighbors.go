package doctor

import (
	"fmt"
	"strings"
)

var neighborRules = []rule{
	{
		id: Flushed, title: "was flushed", severity: Warning,
		when:  "`commandstats` counts FLUSHALL or FLUSHDB",
		why:   "It deletes all locks. Their holders do not notice, and another client may get them.",
		fix:   "forbid it: ACL SETUSER USER -flushall -flushdb; afterwards `CONFIG RESETSTAT`",
		check: each(func(_ *exam, m *master) string { return m.executed("flushall", "flushdb") }),
	},
	{
		id: MayHaveLostKeys, title: "may have lost its keys", severity: Warning,
		when:  "`commandstats` counts SWAPDB or DEBUG",
		why:   "It can take all locks away. Their holders do not notice, and another client may get them.",
		fix:   "forbid it: ACL SETUSER USER -swapdb -debug; enable-debug-command no; afterwards `CONFIG RESETSTAT`",
		check: each(func(_ *exam, m *master) string { return m.executed("swapdb", "debug") }),
	},
	{
		id: UsesKeys, title: "KEYS is used", severity: Warning,
		when:  "`commandstats` counts KEYS",
		why:   "It reads all keys in one step. Meanwhile the server answers no request for a lock.",
		fix:   "use SCAN; forbid it: ACL SETUSER USER -keys; afterwards `CONFIG RESETSTAT`",
		check: each(func(_ *exam, m *master) string { return m.executed("keys") }),
	},
	{
		id: Reconfigured, title: "was configured at run time", severity: Note,
		when:  "`commandstats` counts CONFIG SET",
		why:   "After a restart it may run with other settings than those examined here.",
		fix:   "`CONFIG REWRITE`, or set it back; afterwards `CONFIG RESETSTAT`",
		check: each(func(_ *exam, m *master) string { return m.executed("config|set") }),
	},
	{
		id: EndlessLock, title: "a lock without an end", severity: Warning,
		when: "a key without a TTL whose value is, or looks like, that of a lock of redlock",
		why:  "If it is a lock whose holder died, the name stays locked forever. It may belong to another program.",
		fix:  "redlock status and the name show the holder; ask its owner before you delete anything",
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
			return fmt.Sprintf("%d without a TTL: ", len(m.keys.endless)) + strings.Join(shown, ", ") + more
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
