package check

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Liveness checks that, within [Terms.Bound] after the calm began, each client acquired each name, and each combination
// of name, kind and fencing that it asked for in the calm. A client may be in any of its lives.
//
// On a machine that others use, the bound must be so long that only a lock that is stuck exceeds it. How soon a waiter
// gets a lock is judged in virtual time.
func Liveness(events []history.Event, t Terms) Verdict {
	v := on(events, ByLiveness)
	calm, ok := phase(events, history.Calm)
	if !ok {
		v.find("", nil, "the run never came to the calm after the storm")
		return v
	}
	type want struct {
		client, name, mode string
		fencing            bool
	}
	var wants []want
	asked := map[want]bool{}
	askedName := map[want]bool{} // alone or with other names
	fencing := map[history.ID]bool{}
	first, refused := map[want]history.Event{}, map[want]history.Event{}
	for _, e := range events {
		if e.Phase != history.Calm || e.T < calm {
			continue
		}
		if e.Kind == history.Invoked {
			fencing[e.ID()] = e.Fencing
		}
		w := want{e.Client, e.Name, e.Mode, fencing[e.ID()]}
		switch e.Kind {
		case history.Invoked:
		case history.Acquired:
			if _, ok := first[w]; !ok {
				first[w] = e
			}
		case history.Refused:
			refused[w] = e
		default: // not an outcome of an acquisition
			continue
		}
		if !asked[w] {
			asked[w], wants = true, append(wants, w)
			for _, n := range append([]string{e.Name}, e.Names...) {
				askedName[want{client: e.Client, name: n}] = true
			}
		}
	}
	for _, c := range t.Clients {
		for _, n := range t.Names {
			if w := (want{client: c, name: n}); !askedName[w] {
				wants = append(wants, w)
			}
		}
	}
	slowest := time.Duration(0)
	for _, w := range wants {
		as := ""
		if w.mode != "" {
			as = " as a " + w.mode
		}
		if w.fencing {
			as += " with a fencing token"
		}
		e, got := first[w]
		took := e.T - calm
		switch no, was := refused[w]; {
		case got && took <= t.Bound:
			slowest = max(slowest, took)
		case got:
			v.find(w.name, []history.Event{e}, "%s acquired %q%s only %s after the storm, allowed are %v",
				w.client, w.name, as, secs(took), t.Bound)
		case was:
			v.find(w.name, []history.Event{no}, "%s did not acquire %q%s within %v after the storm: %s",
				w.client, w.name, as, t.Bound, no.Err)
		default:
			v.find(w.name, nil, "%s did not acquire %q%s within %v after the storm, and nothing says why",
				w.client, w.name, as, t.Bound)
		}
	}
	v.Looked = fmt.Sprintf("%d clients × %d names, %d wants in all, slowest %s of %v",
		len(t.Clients), len(t.Names), len(wants), secs(slowest), t.Bound)
	return v
}
