package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/report"
)

// held returns the events of a worker that holds a name during the given time.
func held(name, client string, worker int, from, to time.Duration) []history.Event {
	e := history.Event{Client: client, Worker: worker, Op: 1, Name: name}
	at := func(kind history.Kind, t time.Duration) history.Event {
		e := e
		e.Kind, e.T = kind, t
		return e
	}
	acquired := at(history.Acquired, from+1)
	acquired.Until = to
	return []history.Event{at(history.Invoked, from), acquired, at(history.ReleaseCalled, to-1), at(history.Released, to)}
}

func lanesOf(t *testing.T, events ...[]history.Event) map[string][]string {
	t.Helper()
	var all []history.Event
	for _, some := range events {
		all = append(all, some...)
	}
	history.Sort(all)
	lanes := map[string][]string{}
	for _, g := range dataOf(t, page(t, report.Run{Events: all})).Groups {
		for _, l := range g.Lanes {
			lanes[g.Short] = append(lanes[g.Short], l.Label)
		}
	}
	return lanes
}

func TestWorkersThatTakeTurnsShareALane(t *testing.T) {
	t.Parallel()
	const s = time.Second
	assert.Equal(
		t, map[string][]string{"n": {"c0"}}, lanesOf(t, held("n", "c0", 1, 1*s, 2*s), held("n", "c0", 7, 3*s, 4*s)),
	)
	assert.Equal(
		t, map[string][]string{"n": {"c0"}}, lanesOf(t, held("n", "c0", 7, 1*s, 2*s), held("n", "c0", 1, 3*s, 4*s)),
	)
	assert.Equal(
		t, map[string][]string{"n": {"c0", "c0 #2"}}, lanesOf(t, held("n", "c0", 1, 1*s, 3*s), held("n", "c0", 7, 2*s, 4*s)),
	)
	assert.Equal(
		t, map[string][]string{"n": {"c0", "c1"}}, lanesOf(t, held("n", "c0", 1, 1*s, 2*s), held("n", "c1", 1, 3*s, 4*s)),
		"never of two clients",
	)
}

func TestNamesAreShownWithoutWhatAllBeginWith(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct{ names, want []string }{
		"a prefix":             {[]string{"x:storm:kept", "x:storm:alone:c0"}, []string{"kept", "alone:c0"}},
		"half a word":          {[]string{"storm:kept", "storm:keen"}, []string{"kept", "keen"}},
		"nothing in common":    {[]string{"kept", "doc"}, []string{"kept", "doc"}},
		"one name":             {[]string{"storm:kept"}, []string{"storm:kept"}},
		"one begins the other": {[]string{"storm", "storm:kept"}, []string{"storm", "storm:kept"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var events [][]history.Event
			for i, n := range c.names {
				events = append(events, held(n, "c0", i, 1*s, 2*s))
			}
			var got []string
			for short := range lanesOf(t, events...) {
				got = append(got, short)
			}
			assert.ElementsMatch(t, c.want, got)
		})
	}
}
