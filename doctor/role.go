package doctor

import (
	"fmt"
	"strings"
)

const (
	fixReplica       = "give the address of an independent master, or on this server: `REPLICAOF NO ONE`; `CONFIG REWRITE`"
	fixNeedsReplicas = "`CONFIG SET min-replicas-to-write 0`; `CONFIG REWRITE`"
	fixCluster       = "use independent servers, with cluster-enabled no; or the whole Cluster as one master (node.Wrap)"
)

var roleRules = []rule{
	{
		id: NotAMaster, title: "is not a master", severity: Danger,
		when: "`role` is neither `master` nor that of an active replica",
		why:  "It has no vote: its keys are those of its master, which may delete or replace them.",
		fix:  fixReplica,
		check: each(func(e *exam, m *master) string {
			role := m.info["role"]
			if role == "" || role == "master" || role == "sentinel" || m.activeReplica() {
				return ""
			}
			text := "its role is " + role +
				ifSo(m.info["slave_read_only"] == "0", ", and it accepts writes (replica-read-only no)")
			for _, other := range e.masters {
				if other != m && m.info["master_replid"] != "" && other.info["master_replid"] == m.info["master_replid"] {
					return text + "; it belongs to " + other.name + ", which is also in the list"
				}
			}
			return text
		}),
	},
	{
		id: Sentinel, title: "is a Sentinel", severity: Danger,
		when:  "`redis_mode` is `sentinel`. Nothing else about it is examined",
		why:   "A Sentinel keeps no keys, so it cannot vote.",
		fix:   "give the addresses of independent masters that no Sentinel watches",
		check: each(func(_ *exam, m *master) string { return ifSo(m.sentinel(), "redis_mode is sentinel") }),
	},
	{
		id: ActiveReplica, title: "is an active replica", severity: Danger,
		when:  "KeyDB with `active-replica yes`: `role` is `active-replica`",
		why:   "It and another server copy their locks to each other, late. So its vote is not independent.",
		fix:   "in keydb.conf: active-replica no, and no replicaof",
		check: each(func(_ *exam, m *master) string { return ifSo(m.activeReplica(), "its role is active-replica") }),
	},
	{
		id: HasReplicas, title: "has replicas", severity: Warning,
		when: "`connected_slaves` is above 0",
		why:  "A replica that takes over may lack the latest locks and grant them again. Other masters are the redundancy.",
		fix:  "on each replica: REPLICAOF NO ONE, and then stop it", check: counted("connected_slaves"),
	},
	{
		id: FailingOver, title: "is failing over", severity: Danger,
		when:  "`master_failover_state` is not `no-failover`",
		why:   "Another server takes over its address or role, and may grant locks that are held.",
		fix:   "`FAILOVER ABORT`",
		check: otherThan("master_failover_state", "no-failover"),
	},
	{
		id: WasReplica, title: "has a history of replication", severity: Warning,
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
		id: NeedsReplicas, title: "needs replicas to write", severity: Warning,
		when: "`min_slaves_good_slaves` is reported: `min-replicas-to-write` is set",
		why:  "It refuses locks (NOREPLICAS) while replicas are missing.",
		fix:  fixNeedsReplicas,
		check: each(func(_ *exam, m *master) string {
			good, ok := m.info["min_slaves_good_slaves"]
			return ifSo(ok, "min_slaves_good_slaves is "+good)
		}),
	},
	{
		id: WatchedBySentinel, title: "is watched by Sentinel", severity: Danger,
		when: "`PUBSUB NUMSUB __sentinel__:hello` counts a subscriber or, where that is refused, `CLIENT LIST` a Sentinel",
		why:  "Sentinel replaces a master that seems to be down by a replica that may not have the latest locks.",
		fix:  "on each Sentinel: SENTINEL REMOVE and the NAME in its configuration",
		check: each(func(_ *exam, m *master) string {
			return ifSo(m.sentinels > 0, fmt.Sprintf("%d connections of Sentinels", m.sentinels))
		}),
	},
	{
		id: ClusterMode, title: "runs in cluster mode", severity: Danger,
		when: "`cluster_enabled` is 1",
		why:  "It refuses names of slots that others have (MOVED, CLUSTERDOWN), and a replica may take over its slots.",
		fix:  fixCluster,
		check: each(func(_ *exam, m *master) string {
			return ifSo(m.info["cluster_enabled"] == "1", "cluster_enabled is 1")
		}),
	},
}

func (m *master) activeReplica() bool { return strings.HasPrefix(m.info["role"], "active-replica") }
