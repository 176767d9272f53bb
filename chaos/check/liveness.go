package check

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/chaos/history"
)

// Liveness checks that once every fault was healed, each client acquired each name within bound. Acquisitions of the
// phase Calm count; a client is its process, whichever life it is in.
func Liveness(events []history.Event, clients, names []string, bound time.Duration) Verdict {
	v := on(events, "liveness")
	calm, ok := phase(events, history.Calm)
	if !ok {
		v.find("", nil, "the run never came to the calm after the storm")
		return v
	}
	type pair struct{ client, name string }
	first := map[pair]history.Event{}
	refused := map[pair]history.Event{}
	for _, e := range events {
		if e.Phase != history.Calm || e.T < calm {
			continue
		}
		p := pair{e.Client, e.Name}
		switch e.Kind {
		case history.Acquired:
			if _, ok := first[p]; !ok {
				first[p] = e
			}
		case history.Refused:
			refused[p] = e
		default: // neither answer
		}
	}
	slowest := time.Duration(0)
	for _, c := range clients {
		for _, n := range names {
			p := pair{c, n}
			e, got := first[p]
			switch no, was := refused[p]; {
			case got && e.T-calm <= bound:
				slowest = max(slowest, e.T-calm)
			case got:
				v.find(n, []history.Event{e}, "%s acquired %q only %s after the storm, allowed were %v", c, n, secs(e.T-calm), bound)
			case was:
				v.find(n, []history.Event{no}, "%s did not acquire %q within %v after the storm: %s", c, n, bound, no.Err)
			default:
				v.find(n, nil, "%s did not acquire %q within %v after the storm, and nothing says why", c, n, bound)
			}
		}
	}
	v.Looked = fmt.Sprintf("%d clients × %d names, slowest %s of %v", len(clients), len(names), secs(slowest), bound)
	return v
}
