package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/internal/resp"
)

const (
	oldestMajor, oldestMinor = 6, 2
	fixServer                = "use Redis 6.2 or later"
)

var serverRules = []rule{
	{
		id: TooOld, title: "is too old", severity: Danger,
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
		id: OtherServer, title: "is Dragonfly or KeyDB", severity: Warning,
		when: "`dragonfly_version`, or `mvcc_depth` or an `executable` named keydb",
		why:  "Its threads, scripts and expiry differ from those of Redis. The locks were tested on Redis only.",
		fix:  fixServer,
		check: each(func(_ *exam, m *master) string {
			f := m.flavor()
			return ifSo(f == "Dragonfly" || f == "KeyDB", "it is "+f)
		}),
	},
	{
		id: Valkey, title: "is Valkey", severity: Note,
		when: "`valkey_version` or `server_name` valkey",
		why:  "It is a fork of Redis 7.2. The locks were tested on Redis 7.0.15 only.",
		fix:  "nothing",
		check: each(func(_ *exam, m *master) string {
			return ifSo(m.flavor() == "Valkey", strings.TrimSpace("it is Valkey "+m.info["valkey_version"]))
		}),
	},
	{
		id: Anonymous, title: "does not say who it is", severity: Danger,
		when: "`run_id` or `uptime_in_seconds` is missing from INFO, and the restart guard is on",
		why:  "The restart guard cannot tell a restarted server, so the votes of this one do not count.",
		check: eachFix(func(e *exam, m *master) (observed, fix string) {
			missing := m.info["run_id"] == "" || m.info["uptime_in_seconds"] == ""
			fix = m.grant(nil, "+info")
			for _, r := range m.refused {
				if r.question == "INFO" && reasonFor(r.err) == unknownCommand {
					fix = renamed([]refusal{r})
				}
			}
			return ifSo(e.deployment.Guard && missing, "INFO has no run_id or no uptime_in_seconds"), fix
		}),
	},
	{
		id: Proxy, title: "a proxy answers", severity: Danger,
		when: "`CLIENT ID` or `run_id` changes on one connection",
		why:  "A proxy spreads one connection over several, so the restart guard and the order of requests do not hold.",
		fix:  "connect to the server itself, or set the proxy to one server connection per client",
		check: each(func(_ *exam, m *master) string {
			return m.changedOnOneConnection()
		}),
	},
	{
		id: SeveralServers, title: "several servers answer", severity: Danger,
		when: "connections to one URL reach servers with different `run_id`, while both live",
		why:  "A load balancer spreads the connections, so two clients can hold one lock at once.",
		fix:  "give the address of one server, with its own run_id; in Kubernetes that of a pod, not of a Service",
		check: each(func(_ *exam, m *master) string {
			a, b, both := m.bothLive()
			return ifSo(both && m.changedOnOneConnection() == "",
				fmt.Sprintf("run_id %.8s… and %.8s… answer in turn, each on connections of its own", a, b))
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

// changedOnOneConnection returns which identity changed on one connection; "" if none did.
func (m *master) changedOnOneConnection() string {
	var last sample
	for i, s := range m.samples {
		if i > 0 && s.connection == last.connection {
			switch {
			case s.runID != "" && last.runID != "" && s.runID != last.runID:
				return "run_id changed on one connection"
			case s.client != "" && last.client != "" && s.client != last.client:
				return "CLIENT ID changed on one connection"
			}
		}
		if i == 0 || s.connection != last.connection || s.runID != "" || s.client != "" {
			last = s
		}
	}
	return ""
}

// sightings returns all replies that say which server answered.
func (m *master) sightings() (all []sighting) {
	for _, s := range m.samples {
		all = append(all, s.sighting)
	}
	return slices.DeleteFunc(append(all, m.fresh...), func(s sighting) bool { return s.runID == "" })
}

// runIDs returns the servers that answered, also the first INFO, which is not among the sightings.
func (m *master) runIDs() (ids []string) {
	if id := m.info["run_id"]; id != "" {
		ids = append(ids, id)
	}
	for _, s := range m.sightings() {
		if !slices.Contains(ids, s.runID) {
			ids = append(ids, s.runID)
		}
	}
	return ids
}

// bothLive returns two servers that live at the same time: the first answered before the second was asked, and again
// when it was asked after the second's answer. A server that has restarted has another run_id, and the old one does not
// come back.
func (m *master) bothLive() (first, second string, ok bool) {
	all := m.sightings()
	for _, b := range all {
		before := func(a sighting) bool { return a.runID != b.runID && a.answered.Before(b.asked) }
		for _, a := range all {
			if before(a) && slices.ContainsFunc(all, func(c sighting) bool {
				return c.runID == a.runID && c.asked.After(b.answered)
			}) {
				return a.runID, b.runID, true
			}
		}
	}
	return "", "", false
}

// freshConnections is how many further connections are made to each master, one after the other.
const freshConnections = 12

// connectAfresh notes which server answers on each of several connections, over the span. It leaves the last free
// connections of a server to others.
func (o *observer) connectAfresh() {
	if most := o.m.number("maxclients"); most > 0 && o.m.number("connected_clients")+4 > most {
		return
	}
	for i := range freshConnections {
		if o.sleepUntil(i, freshConnections) != nil || !o.clock.Now().Before(o.end) {
			return
		}
		conn := o.node.Connect()
		asked := o.clock.Now()
		reply, err := conn.Do(o.ctx, "INFO", "server")
		conn.Close()
		if dismissal(err) {
			o.m.dismissed = err
		}
		if err != nil {
			continue
		}
		if id := resp.ParseInfo(fmt.Sprint(reply))["run_id"]; id != "" {
			o.m.fresh = append(o.m.fresh, sighting{asked: asked, answered: o.clock.Now(), runID: id})
		}
	}
}
