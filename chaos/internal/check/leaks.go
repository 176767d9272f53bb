package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Leaks checks that clients leave nothing behind when they have closed their lockers. The last life of each client must
// report that no goroutine is left. Later than [Terms.Grace] after the close no master may have a connection or a
// subscription of a client. Each master must have been inspected that late, or after the last close with nothing found
// then or later.
func Leaks(events []history.Event, t Terms) Verdict {
	v := on(events, ByLeaks)
	closed, ok := phase(events, history.Settled)
	if !ok {
		v.find("", nil, "the run never settled: nothing shows what is left of it")
		return v
	}
	last := map[string]int{}
	quit := map[history.ID]history.Event{}
	for _, e := range events {
		if e.Client == "" {
			continue
		}
		last[e.Client] = max(last[e.Client], e.Life)
		if e.Kind == history.Quitting {
			quit[lifeOf(e.ID())] = e
			closed = max(closed, e.T)
			if e.Goroutines > 0 {
				v.find("", []history.Event{e}, "%s.%d closed its locker, and %d goroutines of it are left",
					e.Client, e.Life, e.Goroutines)
			}
		}
	}
	for _, c := range t.Clients {
		if _, ok := quit[history.ID{Client: c, Life: last[c]}]; !ok {
			v.find("", nil, "%s.%d never closed its locker, or did not live to say what was left of it", c, last[c])
		}
	}
	back := returns(events, closed, t.Masters)
	looks := make([][]history.Event, t.Masters)
	for _, e := range events {
		if e.Kind == history.Sockets && e.T >= back[e.Master] {
			looks[e.Master] = append(looks[e.Master], e)
		}
	}
	for m, seen := range looks {
		if len(seen) == 0 {
			v.find("", nil, "master %d was not inspected for connections after the clients had closed theirs", m)
			continue
		}
		final := seen[len(seen)-1]
		late := slices.IndexFunc(seen, func(e history.Event) bool { return e.T >= back[m]+t.Grace && open(e) })
		if late >= 0 {
			final = seen[late]
		}
		if open(final) {
			v.find("", []history.Event{final},
				"master %d has %d connections of clients and the subscriptions [%s], %s after all of them closed",
				m, final.Connections, strings.Join(final.Channels, ", "), secs(final.T-back[m]))
		}
	}
	v.Looked = fmt.Sprintf("%d lives that closed their locker, connections and subscriptions at %d masters",
		len(quit), t.Masters)
	return v
}

func open(e history.Event) bool { return e.Connections > 0 || len(e.Channels) > 0 }

// returns gives the time from which each master must be clean: since, or the later time at which the master answers
// again.
func returns(events []history.Event, since time.Duration, masters int) []time.Duration {
	back := slices.Repeat([]time.Duration{since}, masters)
	for _, e := range events {
		if e.Kind == history.Healthy && e.On == "masters" {
			for _, m := range e.Targets {
				back[m] = max(back[m], e.T)
			}
		}
	}
	return back
}
