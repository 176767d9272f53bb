package doctor

import (
	"fmt"
	"strings"
	"time"
)

const whyPause = "While a server is blocked it answers no request. A pause above the node timeout costs its vote."

var pauseRules = []rule{
	{
		id: ForksSlowly, title: "forks slowly", severity: Warning,
		when: "`latest_fork_usec` is above the node timeout",
		why:  whyPause,
		fix:  "disable snapshots and rewrites of the AOF (`CONFIG SET save \"\"`), or keep other data elsewhere",
		check: each(func(e *exam, m *master) string {
			return slow("the last fork", microseconds(m.number("latest_fork_usec")), e.deployment.NodeTimeout)
		}),
	},
	{
		id: SlowEventLoop, title: "its event loop is slow", severity: Warning,
		when: "`instantaneous_eventloop_duration_usec` is above half of the node timeout",
		why:  whyPause,
		fix:  "find what occupies it: `SLOWLOG GET`, `INFO commandstats`",
		check: each(func(e *exam, m *master) string {
			took := microseconds(m.number("instantaneous_eventloop_duration_usec"))
			if took <= e.deployment.NodeTimeout/2 {
				return ""
			}
			return fmt.Sprintf("one cycle takes %v, and the node timeout is %v", took, e.deployment.NodeTimeout)
		}),
	},
	{
		id: WasBlocked, title: "was blocked", severity: Warning,
		when: "`LATENCY LATEST` has an event above the node timeout (only if `latency-monitor-threshold` is set)",
		why:  whyPause,
		fix:  "`LATENCY DOCTOR` says what to do; afterwards `LATENCY RESET`",
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
		id: SlowCommands, title: "executes slow commands", severity: Warning,
		when: "`SLOWLOG GET` has a command above the node timeout",
		why:  whyPause,
		fix:  "`SLOWLOG GET` shows all; move the program that sends them to another server; afterwards `SLOWLOG RESET`",
		check: each(func(e *exam, m *master) string {
			var slowest pause
			n := 0
			for _, p := range m.slow {
				if p.took > e.deployment.NodeTimeout {
					n++
				}
				if p.took > slowest.took {
					slowest = p
				}
			}
			what := fmt.Sprintf("%d of the last %d in SLOWLOG, the slowest a %s, which", n, len(m.slow), slowest.what)
			return ifSo(n > 0, slow(what, slowest.took, e.deployment.NodeTimeout))
		}),
	},
	{
		id: HugePages, title: "may use transparent huge pages", severity: Warning,
		when: "`disable-thp no`; on this host only if the kernel's setting is `always`",
		why:  "After a fork each write copies 2 MB, which blocks the server.",
		fix:  "disable-thp yes in redis.conf, or on its host: `echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`",
		check: each(func(e *exam, m *master) string {
			harmless := e.host.local(m.remote) && e.host.hugePages != "" && e.host.hugePages != "always"
			return ifSo(m.config["disable-thp"] == "no" && !harmless, "disable-thp is no")
		}),
	},
	{
		id: RoundTripTooLong, title: "the round trip exceeds the node timeout", severity: Danger,
		when: "the median of about a hundred round trips is above the node timeout",
		why:  "Its votes arrive too late to count.",
		fix:  "raise the node timeout (WithNodeTimeout, --node-timeout) and the TTL, or use a nearer master",
		check: each(func(e *exam, m *master) string {
			_, median, _ := m.stalls(e.deployment.NodeTimeout)
			return slow("half of the round trips", median, e.deployment.NodeTimeout)
		}),
	},
	{
		id: Stalled, title: "stalled", severity: Warning,
		when: "a round trip of the examination took longer than the node timeout, and the median did not",
		why:  "It answered before and after. Meanwhile it had no vote.",
		fix: "find what stopped it then: its log, `SLOWLOG GET`, `LATENCY LATEST`, the load of its host, the network; " +
			"with several masters at once, the load of this host",
		check: each(func(e *exam, m *master) string {
			limit := e.deployment.NodeTimeout
			stalls, _, usual := m.stalls(limit)
			if len(stalls) == 0 {
				return ""
			}
			times := "once, for"
			if len(stalls) > 1 {
				times = fmt.Sprintf("%d times, the longest for", len(stalls))
			}
			return fmt.Sprintf("no answer %s %v; the node timeout is %v, and other round trips took up to %v",
				times, stalls[len(stalls)-1].Round(time.Millisecond), limit, usual.Round(10*time.Microsecond))
		}),
	},
	{
		id: EndedConnection, title: "ended a connection", severity: Warning,
		when: "a connection of the examination ended, and another one was accepted",
		why:  "Requests that were under way have no vote, and the next lock costs two more round trips.",
		fix:  "see its log, and what is between: a proxy, a firewall, CLIENT KILL",
		check: each(func(_ *exam, m *master) string {
			for _, o := range m.outages {
				if !silent(o.err) {
					return fmt.Sprintf("for %v: %v", o.took.Round(time.Millisecond), o.err)
				}
			}
			return ""
		}),
	},
	{
		id: RoundTripLong, title: "the round trip is near the node timeout", severity: Warning,
		when: "of about a hundred round trips that are not above the node timeout, the second longest is above half of it",
		why:  "With a little more load its votes arrive too late.",
		fix:  "raise the node timeout (WithNodeTimeout, --node-timeout) and the TTL, or use a nearer master",
		check: each(func(e *exam, m *master) string {
			limit := e.deployment.NodeTimeout
			_, median, usual := m.stalls(limit)
			if median > limit || usual <= limit/2 {
				return ""
			}
			return fmt.Sprintf("median %v, 99th percentile %v, node timeout %v",
				median.Round(10*time.Microsecond), usual.Round(10*time.Microsecond), limit)
		}),
	},
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
