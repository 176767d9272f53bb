package doctor

// syncedWrites are the settings with which a master syncs every write of its AOF before it replies. With
// no-appendfsync-on-rewrite yes, it syncs nothing while a child saves a snapshot or rewrites the AOF, whatever
// appendfsync is.
var syncedWrites = []struct{ parameter, value string }{{"appendfsync", "always"}, {"no-appendfsync-on-rewrite", "no"}}

const (
	fixFullDisk = "free disk space: `df -h` on its host; then see the log of the server"
	fixSnapshot = "see its log; without need for snapshots: `CONFIG SET save \"\"`; `CONFIG REWRITE`"
)

var persistenceRules = []rule{
	{
		id: ForgetsLocks, title: "forgets locks in a restart", severity: Danger,
		when: "`WithoutRestartGuard`, and not all of `aof_enabled` 1, `appendfsync always` and " +
			"`no-appendfsync-on-rewrite no`",
		why: "Without the restart guard a restarted master votes at once, so it must have every lock that it granted.",
		fix: "leave out WithoutRestartGuard (--without-restart-guard), or: `CONFIG SET no-appendfsync-on-rewrite no`; " +
			"`CONFIG SET appendfsync always`; `CONFIG SET appendonly yes`; `CONFIG REWRITE`",
		check: each(func(e *exam, m *master) string {
			unsynced := m.unsynced()
			return ifSo(!e.deployment.Guard && unsynced != "", "the restart guard is off, and "+unsynced)
		}),
	},
	{
		id: AOFFails, title: "cannot write its AOF", severity: Danger,
		when:  "`aof_last_write_status` is not `ok`",
		why:   "It refuses locks (MISCONF) until it can write, so it cannot vote.",
		fix:   fixFullDisk,
		check: otherThan("aof_last_write_status", "ok"),
	},
	{
		id: WaitsForDisk, title: "waits for its disk", severity: Warning,
		when:  "`aof_delayed_fsync` is above 0",
		why:   "A sync of the AOF took so long that the server waited for it, and answered no request meanwhile.",
		fix:   "use a faster disk; or no AOF, with the restart guard; afterwards `CONFIG RESETSTAT`",
		check: counted("aof_delayed_fsync"),
	},
	{
		id: SnapshotFailed, title: "failed to save a snapshot", severity: Warning,
		when:  "`rdb_last_bgsave_status` is not `ok`",
		why:   "With snapshots configured, it refuses locks (MISCONF) until one succeeds.",
		fix:   fixSnapshot,
		check: otherThan("rdb_last_bgsave_status", "ok"),
	},
	{
		id: Loading, title: "is loading its dataset", severity: Warning,
		when:  "`loading` is 1",
		why:   "Until then it refuses locks (LOADING), so it cannot vote.",
		fix:   "wait",
		check: each(func(_ *exam, m *master) string { return ifSo(m.info["loading"] == "1", "loading is 1") }),
	},
}

// unsynced returns why the master may reply to a write before the write is on its disk; "" if it never does.
func (m *master) unsynced() string {
	if m.info["aof_enabled"] != "1" {
		return "aof_enabled is not 1"
	}
	for _, s := range syncedWrites {
		switch value, known := m.config[s.parameter]; {
		case !known:
			return s.parameter + " is unknown"
		case value != s.value:
			return s.parameter + " is " + value
		}
	}
	return ""
}
