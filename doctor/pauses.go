package doctor

import (
	"fmt"
	"strings"
	"time"
)

const whyPause = "While a server is blocked it answers no request. A pause above the node timeout costs its vote."

var pauseRules = []rule{
	{
		title: "forks slowly", severity: Warning,
		when: "`latest_fork_usec` is above the node timeout",
		why:  whyPause,
		fix:  "disable snapshots and AOF rewrites (CONFIG SET save \"\"), or keep other data elsewhere",
		check: each(func(e *exam, m *master) string {
			return slow("the last fork", microseconds(m.number("latest_fork_usec")), e.deployment.NodeTimeout)
		}),
	},
	{
		title: "its event loop is slow", severity: Warning,
		when: "`instantaneous_eventloop_duration_usec` is above half of the node timeout",
		why:  whyPause,
		fix:  "find what occupies it: SLOWLOG GET, INFO commandstats",
		check: each(func(e *exam, m *master) string {
			took := microseconds(m.number("instantaneous_eventloop_duration_usec"))
			if took <= e.deployment.NodeTimeout/2 {
				return ""
			}
			return fmt.Sprintf("one cycle takes %v, and the node timeout is %v", took, e.deployment.NodeTimeout)
		}),
	},
	{
		title: "was blocked", severity: Warning,
		when: "`LATENCY LATEST` has an event above the node timeout (only if `latency-monitor-threshold` is set)",
		why:  whyPause,
		fix:  "LATENCY DOCTOR says what to do; afterwards LATENCY RESET",
		check: each(func(e *exam, m *master) string {
			var all []string
			for _, p := range m.latency {
				if observed := slow("event "+p.what, p.took, e.deployment.NodeTimeout); observed != "" {
					all = append(all, observed)
				}
			}
			return strings.Join(all, "; ")
		}),
	},
	{
		title: "executes slow commands", severity: Warning,
		when: "`SLOWLOG GET` has a command above the node timeout",
		why:  whyPause,
		fix:  "SLOWLOG GET shows all; move the program that sends them to another server; afterwards SLOWLOG RESET",
		check: each(func(e *exam, m *master) string {
			return slow("a "+m.slowest.what, m.slowest.took, e.deployment.NodeTimeout)
		}),
	},
	{
		title: "may use transparent huge pages", severity: Warning,
		when: "`disable-thp no`; on this host only if the kernel's setting is `always`",
		why:  "After a fork each write copies 2 MB, which blocks the server.",
		fix:  "disable-thp yes in redis.conf, or on its host: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
		check: each(func(e *exam, m *master) string {
			harmless := e.host.local(m.remote) && e.host.hugePages != "" && e.host.hugePages != "always"
			return ifSo(m.config["disable-thp"] == "no" && !harmless, "disable-thp is no")
		}),
	},
	{
		title: "the round trip exceeds the node timeout", severity: Danger,
		when: "the median of 110 round trips is above the node timeout",
		why:  "Its votes arrive too late to count.",
		fix:  "raise the node timeout (WithNodeTimeout, --node-timeout) and the TTL, or use a nearer master",
		check: each(func(e *exam, m *master) string {
			median, _ := m.roundTrips()
			return slow("half of the round trips", median, e.deployment.NodeTimeout)
		}),
	},
	{
		title: "the round trip is near the node timeout", severity: Warning,
		when: "the 99th percentile of 110 round trips is above half of the node timeout, and the median is not above it",
		why:  "With a little more load its votes arrive too late.",
		fix:  "raise the node timeout (WithNodeTimeout, --node-timeout) and the TTL, or use a nearer master",
		check: each(func(e *exam, m *master) string {
			median, p99 := m.roundTrips()
			limit := e.deployment.NodeTimeout
			if median > limit || p99 <= limit/2 {
				return ""
			}
			return fmt.Sprintf("median %v, 99th percentile %v, node timeout %v",
				median.Round(10*time.Microsecond), p99.Round(10*time.Microsecond), limit)
		}),
	},
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
