package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/history"
)

// Residue checks that grace after the last unlock, and after its own return, no master holds a key any more. It looks
// at the snapshots taken in the phase Settled, and wants of each of the masters at least one that is late enough.
//
// The check is worth something only if a key left behind would have been seen. So it also demands that in the phase
// Ghosts, when masters were frozen, at least one lock was taken and released behind their backs, and at least one was
// refused, with a TTL that reaches beyond the last look: what is gone then was released, it did not expire.
func Residue(events []history.Event, masters int, grace time.Duration) Verdict {
	v := Verdict{Checker: "residue"}
	settled, ok := phase(events, history.Settled)
	if !ok {
		v.find("", nil, "the run never settled: there was no last unlock to look behind")
		return v
	}
	return residue(v, events, settled, masters, grace)
}

func residue(v Verdict, events []history.Event, settled time.Duration, masters int, grace time.Duration) Verdict {
	back := make([]time.Duration, masters) // when each master was last known to have returned
	for i := range back {
		back[i] = settled
	}
	for _, e := range events {
		if e.Kind == history.Healthy && e.On == "masters" {
			for _, m := range e.Targets {
				back[m] = max(back[m], e.T)
			}
		}
	}
	looks, dirty := make([]int, masters), make([]bool, masters)
	latest := time.Duration(0)
	for _, e := range events {
		if e.Kind != history.Keys || e.T < back[e.Master]+grace {
			continue
		}
		looks[e.Master]++
		latest = max(latest, e.T)
		if len(e.Held) > 0 && !dirty[e.Master] {
			dirty[e.Master] = true
			v.find(e.Held[0].Name, []history.Event{e}, "master %d still holds %s, %s after everything was released",
				e.Master, list(e.Held), secs(e.T-back[e.Master]))
		}
	}
	for m, n := range looks {
		if n == 0 {
			v.find("", nil, "nobody looked at master %d later than %v after its return", m, grace)
		}
	}
	taken, refused := probes(events, latest)
	if taken == 0 {
		v.find("", nil, "no lock was taken behind a frozen master with a TTL long enough to be seen if its key had stayed")
	}
	if refused == 0 {
		v.find("", nil, "no lock was refused behind frozen masters with a TTL long enough to be seen if its keys had stayed")
	}
	v.Looked = fmt.Sprintf("%d masters %v after the last unlock, %d locks taken and %d refused behind frozen ones",
		masters, grace, taken, refused)
	return v
}

// probes counts the locks whose keys would have been seen at latest if they had stayed: those taken and released, and
// those refused, while a master was frozen in the phase Ghosts. A key that waits for a frozen master begins to age at
// its thaw; one that a refused lock has placed elsewhere, when it was asked for.
func probes(events []history.Event, latest time.Duration) (taken, refused int) {
	begin, ok := phase(events, history.Ghosts)
	if !ok {
		return 0, 0
	}
	var froze, thaw time.Duration
	for _, e := range events {
		if e.T < begin || e.On != "masters" {
			continue
		}
		switch {
		case e.Kind == history.Inject && froze == 0:
			froze = e.T
		case e.Kind == history.Heal && thaw == 0:
			thaw = e.T
		}
	}
	asked := map[history.ID]history.Event{}
	for _, e := range events {
		if froze == 0 || e.T < froze || e.T > thaw {
			continue
		}
		switch e.Kind {
		case history.Invoked:
			asked[e.ID()] = e
		case history.Released:
			if a, ok := asked[e.ID()]; ok && e.Err == "" && thaw+a.TTL > latest {
				taken++
			}
		case history.Refused:
			if a, ok := asked[e.ID()]; ok && a.T+a.TTL > latest {
				refused++
			}
		default: // no end of a lock
		}
	}
	return taken, refused
}

func list(keys []history.Key) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		left := "for ever"
		if k.Left >= 0 {
			left = "for " + k.Left.String()
		}
		parts[i] = fmt.Sprintf("%q (token %q, %s)", k.Name, k.Token, left)
	}
	return strings.Join(parts, ", ")
}
