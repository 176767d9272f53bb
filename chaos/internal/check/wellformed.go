package check

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// WellFormed checks that working clients can have written the history, and that its events are in the order of their
// times. Otherwise a bug of a writer could hide a violation.
func WellFormed(events []history.Event) Verdict {
	v := on(events, ByWellFormed)
	v.Looked = fmt.Sprintf("%d events", len(events))
	acquired := map[history.ID]bool{}
	last := time.Duration(0)
	for _, e := range events {
		if e.T < last {
			v.find("", []history.Event{e}, "the history is not in the order of its times: %v after %v", e.T, last)
			return v
		}
		last = e.T
		switch e.Kind {
		case history.Acquired:
			if acquired[e.ID()] {
				v.find(e.Name, []history.Event{e}, "%s acquired twice", who(e.ID()))
			}
			acquired[e.ID()] = true
			if e.Until == 0 {
				v.find(e.Name, []history.Event{e}, "%s acquired %q without a deadline", who(e.ID()), e.Name)
			}
		case history.Extended, history.Lost, history.ReleaseCalled:
			if !acquired[e.ID()] {
				v.find(e.Name, []history.Event{e}, "%s: %s of what was never acquired", who(e.ID()), e.Kind)
			}
		default: // does not concern a hold
		}
	}
	return v
}
