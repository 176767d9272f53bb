package doctor

import (
	"fmt"
	"strings"
)

const (
	oldestMajor, oldestMinor = 6, 2
	fixServer                = "use Redis 6.2 or later"
)

var serverRules = []rule{
	{
		title: "is too old", severity: Danger,
		when: "`redis_version` is below 6.2",
		why:  "The scripts of the locks are written for Redis 6.2 and later.",
		fix:  fixServer,
		check: each(func(_ *exam, m *master) string {
			var major, minor int
			version := m.info["redis_version"]
			if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n < 2 || m.flavor() != "" && m.flavor() != "Valkey" {
				return ""
			}
			old := major < oldestMajor || major == oldestMajor && minor < oldestMinor
			return ifSo(old, "redis_version is "+version)
		}),
	},
	{
		title: "is Dragonfly or KeyDB", severity: Warning,
		when: "`dragonfly_version`, or `mvcc_depth` or an `executable` named keydb",
		why:  "Its threads, scripts and expiry differ from those of Redis. The locks were tested on Redis only.",
		fix:  fixServer,
		check: each(func(_ *exam, m *master) string {
			f := m.flavor()
			return ifSo(f == "Dragonfly" || f == "KeyDB", "it is "+f)
		}),
	},
	{
		title: "is Valkey", severity: Note,
		when: "`valkey_version` or `server_name` valkey",
		why:  "It is a fork of Redis 7.2. The locks were tested on Redis 7.0.15 only.",
		fix:  "nothing",
		check: each(func(_ *exam, m *master) string {
			return ifSo(m.flavor() == "Valkey", strings.TrimSpace("it is Valkey "+m.info["valkey_version"]))
		}),
	},
	{
		title: "does not say who it is", severity: Danger,
		when: "`run_id` or `uptime_in_seconds` is missing from INFO, and the restart guard is on",
		why:  "The restart guard cannot tell a restarted server, so the votes of this one do not count.",
		fix:  "allow INFO: ACL SETUSER USER +info; or read about WithoutRestartGuard",
		check: each(func(e *exam, m *master) string {
			missing := m.info["run_id"] == "" || m.info["uptime_in_seconds"] == ""
			return ifSo(e.deployment.Guard && missing, "INFO has no run_id or no uptime_in_seconds")
		}),
	},
	{
		title: "a proxy answers", severity: Danger,
		when: "`CLIENT ID` or `run_id` changes on one connection",
		why:  "A proxy spreads one connection over several, so the restart guard and the order of requests do not hold.",
		fix:  "connect to the server itself, or set the proxy to one server connection per client",
		check: each(func(_ *exam, m *master) string {
			for i := 1; i < len(m.bursts); i++ {
				a, b := m.bursts[i-1], m.bursts[i]
				switch {
				case a.runID != b.runID:
					return "run_id changed on one connection"
				case a.client != b.client:
					return "CLIENT ID changed on one connection"
				}
			}
			return ""
		}),
	},
}

// flavor returns the name of a server that is not Redis; "" for Redis and for unknown servers.
func (m *master) flavor() string {
	_, mvcc := m.info["mvcc_depth"]
	switch {
	case m.info["dragonfly_version"] != "":
		return "Dragonfly"
	case mvcc, strings.Contains(m.info["executable"], "keydb"):
		return "KeyDB"
	case m.info["valkey_version"] != "", m.info["server_name"] == "valkey":
		return "Valkey"
	default:
		return ""
	}
}
