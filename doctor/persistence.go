package doctor

var persistenceRules = []rule{
	{
		title: "forgets locks in a restart", severity: Danger,
		when: "`WithoutRestartGuard`, and not both `aof_enabled` 1 and `appendfsync always`",
		why:  "Without the restart guard a restarted master votes at once. It must then have every lock that it granted.",
		fix: "leave out WithoutRestartGuard (--without-restart-guard); or CONFIG SET appendonly yes; " +
			"CONFIG SET appendfsync always; CONFIG REWRITE",
		check: each(func(e *exam, m *master) string {
			fsync, known := m.config["appendfsync"]
			aof := m.info["aof_enabled"] == "1"
			switch {
			case e.deployment.Guard || aof && fsync == "always":
				return ""
			case !aof:
				return "the restart guard is off, and aof_enabled is not 1"
			case !known:
				return "the restart guard is off, and appendfsync is unknown"
			default:
				return "the restart guard is off, and appendfsync is " + fsync
			}
		}),
	},
	{
		title: "cannot write its AOF", severity: Danger,
		when:  "`aof_last_write_status` is not `ok`",
		why:   "It refuses locks (MISCONF) until it can write, so it cannot vote.",
		fix:   "free disk space (df -h), then see the log of the server",
		check: otherThan("aof_last_write_status", "ok"),
	},
	{
		title: "waits for its disk", severity: Warning,
		when:  "`aof_delayed_fsync` is above 0",
		why:   "A sync of the AOF took so long that the server waited for it, and answered no request meanwhile.",
		fix:   "use a faster disk, or CONFIG SET no-appendfsync-on-rewrite yes; or no AOF, with the restart guard",
		check: counted("aof_delayed_fsync"),
	},
	{
		title: "failed to save a snapshot", severity: Warning,
		when:  "`rdb_last_bgsave_status` is not `ok`",
		why:   "With snapshots configured, it refuses locks (MISCONF) until one succeeds.",
		fix:   "see its log; without need for snapshots: CONFIG SET save \"\"; CONFIG REWRITE",
		check: otherThan("rdb_last_bgsave_status", "ok"),
	},
	{
		title: "is loading its dataset", severity: Warning,
		when:  "`loading` is 1",
		why:   "Until then it refuses locks (LOADING), so it cannot vote.",
		fix:   "wait",
		check: each(func(_ *exam, m *master) string { return ifSo(m.info["loading"] == "1", "loading is 1") }),
	},
}
