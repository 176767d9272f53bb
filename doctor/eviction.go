package doctor

import "fmt"

const (
	noEviction  = "noeviction"
	fixEviction = "`CONFIG SET maxmemory-policy noeviction`; `CONFIG REWRITE`"
	fixMemory   = "find what uses the memory (redis-cli --bigkeys), or CONFIG SET maxmemory to a larger value"
	almostFull  = 0.9 // of maxmemory, of maxclients
)

var evictionRules = []rule{
	{
		id: EvictsLocks, title: "evicts locks", severity: Danger,
		when: "`maxmemory` is set, and `maxmemory_policy` is not `noeviction`",
		why:  "A full server deletes locks and grants them again. The policies volatile-* choose keys with a TTL: locks.",
		fix:  fixEviction,
		check: each(func(_ *exam, m *master) string {
			if policy := m.policy(); policy != noEviction && policy != "" && m.maxMemory() > 0 {
				return fmt.Sprintf("maxmemory_policy is %s, and maxmemory is %d", policy, m.maxMemory())
			}
			return ""
		}),
	},
	{
		id: WouldEvictLocks, title: "would evict locks", severity: Warning,
		when: "`maxmemory` is 0, and `maxmemory_policy` is not `noeviction`",
		why:  "If maxmemory is ever set, a full server deletes locks.",
		fix:  fixEviction,
		check: each(func(_ *exam, m *master) string {
			if policy := m.policy(); policy != noEviction && policy != "" && m.maxMemory() == 0 {
				return "maxmemory_policy is " + policy
			}
			return ""
		}),
	},
	{
		id: EvictedKeys, title: "has evicted keys", severity: Warning,
		when: "`evicted_keys` is above 0",
		why:  "Since it started, or since CONFIG RESETSTAT, it was full and deleted keys, perhaps locks.",
		fix:  fixEviction + "; afterwards `CONFIG RESETSTAT`", check: counted("evicted_keys"),
	},
	{
		id: AlmostFull, title: "memory is almost full", severity: Warning,
		when: "`used_memory` is at least 90 % of `maxmemory`",
		why:  "With noeviction, a full server refuses locks (OOM), which costs its vote.",
		fix:  fixMemory,
		check: each(func(_ *exam, m *master) string {
			used, most := m.number("used_memory"), m.maxMemory()
			if most > 0 && float64(used) >= almostFull*float64(most) {
				return fmt.Sprintf("used_memory is %d of %d", used, most)
			}
			return ""
		}),
	},
}

func (m *master) policy() string { return m.setting("maxmemory_policy", "maxmemory-policy") }

func (m *master) maxMemory() int64 {
	if _, ok := m.info["maxmemory"]; ok {
		return m.number("maxmemory")
	}
	n, _ := m.configured("maxmemory")
	return n
}
