package doctor

import (
	"fmt"
	"strings"
)

var roleRules = []rule{
	{
		title: "is not a master", severity: Danger,
		when: "`role` is neither `master` nor that of an active replica",
		why:  "It refuses locks (READONLY), so it cannot vote.",
		fix:  "give the address of an independent master, or on this server: REPLICAOF NO ONE",
		check: each(func(_ *exam, m *master) string {
			if role := m.info["role"]; role != "" && role != "master" && !m.activeReplica() {
				return "its role is " + role
			}
			return ""
		}),
	},
	{
		title: "is an active replica", severity: Danger,
		when:  "KeyDB with `active-replica yes`: `role` is `active-replica`",
		why:   "It and another server copy their locks to each other, late. So its vote is not independent.",
		fix:   "in keydb.conf: active-replica no, and no replicaof",
		check: each(func(_ *exam, m *master) string { return ifSo(m.activeReplica(), "its role is active-replica") }),
	},
	{
		title: "has replicas", severity: Warning,
		when: "`connected_slaves` is above 0",
		why: "A replica that takes over may not have the latest locks and grants them again. Masters of locks need no " +
			"replicas: the other masters are the redundancy.",
		fix: "on each replica: REPLICAOF NO ONE, and then stop it", check: counted("connected_slaves"),
	},
	{
		title: "is failing over", severity: Danger,
		when:  "`master_failover_state` is not `no-failover`",
		why:   "Another server takes over its address or role, and may grant locks that are held.",
		fix:   "FAILOVER ABORT",
		check: otherThan("master_failover_state", "no-failover"),
	},
	{
		title: "has a history of replication", severity: Warning,
		when: "`second_repl_offset` is not negative: " +
			"it was promoted from a replica, or restarted from a snapshot with replicas",
		why: "A promoted replica may not have had the latest locks. If it was promoted just now, locks may be held twice.",
		fix: "redlock status NAME for the locks that matter; take the server out of replication for good",
		check: each(func(_ *exam, m *master) string {
			if _, ok := m.info["second_repl_offset"]; ok && m.number("second_repl_offset") >= 0 {
				return "second_repl_offset is " + m.info["second_repl_offset"]
			}
			return ""
		}),
	},
	{
		title: "needs replicas to write", severity: Warning,
		when: "`min_slaves_good_slaves` is reported: `min-replicas-to-write` is set",
		why:  "It refuses locks (NOREPLICAS) while replicas are missing.",
		fix:  "CONFIG SET min-replicas-to-write 0; CONFIG REWRITE",
		check: each(func(_ *exam, m *master) string {
			good, ok := m.info["min_slaves_good_slaves"]
			return ifSo(ok, "min_slaves_good_slaves is "+good)
		}),
	},
	{
		title: "is watched by Sentinel", severity: Danger,
		when: "`PUBSUB NUMSUB __sentinel__:hello` counts a subscriber or, where that is refused, `CLIENT LIST` a Sentinel",
		why:  "Sentinel replaces a master that seems to be down by a replica that may not have the latest locks.",
		fix:  "on each Sentinel: SENTINEL REMOVE NAME",
		check: each(func(_ *exam, m *master) string {
			return ifSo(m.sentinels > 0, fmt.Sprintf("%d connections of Sentinels", m.sentinels))
		}),
	},
	{
		title: "runs in cluster mode", severity: Danger,
		when: "`cluster_enabled` is 1",
		why:  "It refuses names of slots that other servers have (MOVED), and a replica may take over its slots.",
		fix:  "use independent servers, with cluster-enabled no; or the whole Cluster as one master (node.Wrap)",
		check: each(func(_ *exam, m *master) string {
			return ifSo(m.info["cluster_enabled"] == "1", "cluster_enabled is 1")
		}),
	},
}

func (m *master) activeReplica() bool { return strings.HasPrefix(m.info["role"], "active-replica") }
