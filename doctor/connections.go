package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	subscriberBuffer = 1 << 20 // bytes; a smaller output buffer limit for pub/sub is a finding
	fewConnections   = 10      // a Locker needs up to four
	fixMaxClients    = "`CLIENT LIST` shows who connects; CONFIG SET maxclients to a larger value (and raise ulimit -n)"
)

var connectionRules = []rule{
	{
		id: NoMoreConnections, title: "connections are used up", severity: Danger,
		when: "it accepted a connection, and refused another one: the max number of clients is reached",
		why:  "A client that cannot connect loses this master's vote.",
		fix:  fixMaxClients,
		check: each(func(_ *exam, m *master) string {
			if m.dismissed == nil {
				return ""
			}
			return m.dismissed.Error()
		}),
	},
	{
		id: AlmostNoConnections, title: "connections are almost used up", severity: Warning,
		when: "`connected_clients` is at least 90 % of `maxclients`, or leaves fewer than ten free",
		why:  "A client that cannot connect loses this master's vote.",
		fix:  fixMaxClients,
		check: each(func(_ *exam, m *master) string {
			have, most := m.number("connected_clients"), m.number("maxclients")
			if most > 0 && (float64(have) >= almostFull*float64(most) || most-have < fewConnections) {
				return fmt.Sprintf("connected_clients is %d of %d", have, most)
			}
			return ""
		}),
	},
	{
		id: RejectedConnections, title: "has rejected connections", severity: Warning,
		when:  "`rejected_connections` is above 0",
		why:   "Since it started, maxclients kept clients from connecting.",
		fix:   fixMaxClients + "; afterwards `CONFIG RESETSTAT`",
		check: counted("rejected_connections"),
	},
	{
		id: ClosesIdle, title: "closes idle connections", severity: Warning,
		when: "`timeout` is above 0",
		why:  "The first lock after a pause then costs two more round trips.",
		fix:  "`CONFIG SET timeout 0`; `CONFIG REWRITE`",
		check: each(func(_ *exam, m *master) string {
			n, _ := m.configured("timeout")
			return ifSo(n > 0, fmt.Sprintf("timeout is %d", n))
		}),
	},
	{
		id: KeepsDead, title: "keeps dead connections", severity: Warning,
		when: "`tcp-keepalive` is 0",
		why:  "Connections of clients that vanished stay open and count toward maxclients.",
		fix:  "`CONFIG SET tcp-keepalive 300`; `CONFIG REWRITE`",
		check: each(func(_ *exam, m *master) string {
			n, known := m.configured("tcp-keepalive")
			return ifSo(known && n == 0, "tcp-keepalive is 0")
		}),
	},
	{
		id: SmallBuffer, title: "subscribers have a small buffer", severity: Warning,
		when: "a limit of `client-output-buffer-limit pubsub` is above 0 and below 1 MB",
		why:  "The server disconnects waiters in a burst of release messages; they then notice releases later.",
		fix:  "`CONFIG SET client-output-buffer-limit \"pubsub 33554432 8388608 60\"`; `CONFIG REWRITE`",
		check: each(func(_ *exam, m *master) string {
			limits := m.config["client-output-buffer-limit"]
			fields := strings.Fields(limits)
			for i, f := range fields {
				if f != "pubsub" || i+2 >= len(fields) {
					continue
				}
				for _, text := range fields[i+1 : i+3] {
					if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && n < subscriberBuffer {
						return "client-output-buffer-limit is " + strings.Join(fields[i:min(i+4, len(fields))], " ")
					}
				}
			}
			return ""
		}),
	},
	{
		id: DisconnectedClients, title: "has disconnected slow clients", severity: Warning,
		when: "`client_output_buffer_limit_disconnections` is above 0",
		why:  "Clients that read too slowly lost their connection; waiters among them noticed releases later.",
		fix: "`CONFIG GET client-output-buffer-limit`; raise the limit of the class that is too small; afterwards " +
			"`CONFIG RESETSTAT`",
		check: counted("client_output_buffer_limit_disconnections"),
	},
}
