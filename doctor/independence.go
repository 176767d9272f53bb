package doctor

import (
	"cmp"
	"fmt"
	"slices"
)

var independenceRules = []rule{
	{
		id: SameServer, title: "is the same server as another", severity: Danger,
		when: "equal `run_id`",
		why:  "Several addresses lead to one process, which has one vote. The others are lost.",
		fix:  "give each master its own address, and remove the others from the list",
		check: func(e *exam) []hit {
			return sharedValues(e, func(m *master) string { return m.info["run_id"] }, "run_id %s")
		},
	},
	{
		id: SharesHost, title: "shares a host", severity: Warning,
		when: "equal resolved address; equal `laddr` in `CLIENT INFO` that is no loopback address; or all on this host",
		why:  "Masters on one host fail together. (Tunnels that end on one host, and container networks, may only look so.)",
		fix:  "move all but one of them to other hosts",
		check: func(e *exam) []hit {
			hits := sharedValues(e, e.hostOf, "resolved address %s")
			for _, h := range sharedValues(e, func(m *master) string {
				return ifSo(!loopback(m.local) && !m.develops(), m.local)
			}, "CLIENT INFO laddr %s") {
				if !slices.ContainsFunc(hits, func(other hit) bool { return slices.Equal(other.nodes, h.nodes) }) {
					hits = append(hits, h)
				}
			}
			return hits
		},
	},
	{
		id: ZoneMajority, title: "a zone holds a majority", severity: Warning,
		when: "a majority of three or more masters is in one zone: `zone=NAME` in the URL, or `availability_zone` in INFO",
		why:  "If that zone fails, no lock can be acquired.",
		fix:  "spread the masters over at least three zones",
		check: func(e *exam) (hits []hit) {
			for _, zone := range e.zones() {
				if len(e.masters) >= 3 && len(zone.masters) > len(e.masters)/2 {
					hits = append(hits, zone.hit(e))
				}
			}
			return hits
		},
	},
	{
		id: UnevenZones, title: "the zones are uneven", severity: Note,
		when: "all zones are known, none holds a majority, and two differ by more than one master",
		why:  "The loss of the largest zone leaves fewer masters than necessary.",
		fix:  "spread the masters evenly",
		check: func(e *exam) []hit {
			zones, known := e.zones(), 0
			for _, z := range zones {
				known += len(z.masters)
			}
			if known < len(e.masters) || len(zones) < 2 {
				return nil
			}
			most, least := zones[0], zones[len(zones)-1]
			if len(most.masters) > len(e.masters)/2 || len(most.masters)-len(least.masters) < 2 {
				return nil
			}
			return []hit{most.hit(e)}
		},
	},
}

// sharedValues returns a hit for each value that several masters have in common. It leaves out masters without a value.
func sharedValues(e *exam, of func(*master) string, format string) (hits []hit) {
	for _, g := range groupBy(e, of) {
		if len(g.masters) > 1 {
			hits = append(hits, hit{nodes: g.masters, observed: fmt.Sprintf(format, g.value)})
		}
	}
	return hits
}

// valueGroup is a value, and the names of the masters that have it.
type valueGroup struct {
	value   string
	masters []string
}

// groupBy returns the groups of masters with an equal value, the largest first.
func groupBy(e *exam, of func(*master) string) (all []valueGroup) {
	for _, m := range e.masters {
		value := of(m)
		if value == "" {
			continue
		}
		i := slices.IndexFunc(all, func(g valueGroup) bool { return g.value == value })
		if i < 0 {
			i, all = len(all), append(all, valueGroup{value: value})
		}
		all[i].masters = append(all[i].masters, m.name)
	}
	slices.SortStableFunc(all, func(a, b valueGroup) int { return cmp.Compare(len(b.masters), len(a.masters)) })
	return all
}

// hostOf returns the address of a master's host; "of this host" for all addresses of this host; "" if it is unknown.
func (e *exam) hostOf(m *master) string {
	if m.develops() {
		return ""
	}
	if m.remote != "" && e.host.local(m.remote) {
		return "of this host"
	}
	return m.remote
}

func (e *exam) zones() []valueGroup {
	return groupBy(e, func(m *master) string { return cmp.Or(m.zone, m.info["availability_zone"]) })
}

func (g valueGroup) hit(e *exam) hit {
	return hit{
		nodes:    g.masters,
		observed: fmt.Sprintf("%d of %d masters are in zone %s", len(g.masters), len(e.masters), g.value),
	}
}
