package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// grouped sorts attempts into lanes. Names with findings come first, then names with many attempts.
func grouped(all []attempt) []group {
	type key struct {
		name, client string
		worker       int
	}
	byWorker := map[key][]attempt{}
	size, bad := map[string]int{}, map[string]bool{}
	var keys []key
	for _, a := range all {
		for _, name := range a.names {
			k := key{name, a.id.Client, a.id.Worker}
			if byWorker[k] == nil {
				keys = append(keys, k)
			}
			byWorker[k] = append(byWorker[k], a)
			size[name]++
			bad[name] = bad[name] || a.Bad
		}
	}
	first := func(yes bool) int {
		if yes {
			return 0
		}
		return 1
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(first(bad[a.name]), first(bad[b.name])), cmp.Compare(size[b.name], size[a.name]),
			cmp.Compare(a.name, b.name), cmp.Compare(a.client, b.client), cmp.Compare(a.worker, b.worker))
	})
	var groups []group
	for _, k := range keys {
		if n := len(groups); n == 0 || groups[n-1].Name != k.name {
			groups = append(groups, group{Name: k.name, Short: k.name})
		}
		groups[len(groups)-1].place(k.client, byWorker[k])
	}
	return groups
}

// place adds a worker's attempts to the first lane of its client that is free at that time. Most clients need one lane
// for each name, because their workers take turns.
func (g *group) place(client string, attempts []attempt) {
	added := lane{Client: client, Attempts: attempts}
	n := 1
	for i := range g.Lanes {
		l := &g.Lanes[i]
		if l.Client != client {
			continue
		}
		if l.end() < attempts[0].Asked || added.end() < l.Attempts[0].Asked {
			l.Attempts = append(l.Attempts, attempts...)
			slices.SortStableFunc(l.Attempts, func(a, b attempt) int { return cmp.Compare(a.Asked, b.Asked) })
			return
		}
		n++
	}
	added.Label = client
	if n > 1 {
		added.Label = fmt.Sprintf("%s #%d", client, n)
	}
	g.Lanes = append(g.Lanes, added)
}

// end returns the time of the last event that the lane shows.
func (l lane) end() float64 {
	var last float64
	for _, a := range l.Attempts {
		last = max(last, a.end())
	}
	return last
}

// end returns the last time that is known of the attempt.
func (a attempt) end() float64 {
	last := max(a.Answer, a.Lost)
	for _, h := range a.Held {
		last = max(last, h[1])
	}
	return last
}

// shorten removes a common prefix, whole words that end with a colon, from the names that the page shows. It returns
// the prefix.
func shorten(groups []group) (prefix string) {
	if len(groups) < 2 {
		return ""
	}
	prefix = groups[0].Name
	for _, g := range groups {
		for !strings.HasPrefix(g.Name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	prefix = prefix[:strings.LastIndex(prefix, ":")+1]
	for i := range groups {
		groups[i].Short = strings.TrimPrefix(groups[i].Name, prefix)
	}
	return prefix
}
