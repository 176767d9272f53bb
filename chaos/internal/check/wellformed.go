package check

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// WellFormed looks for histories that no working client writes:
//   - The events must be in the order of their times.
//   - An acquisition is asked for at most once, and acquired at most once, after it was asked for and with a deadline.
//   - Every other event of its hold follows after it was acquired.
//   - Its unlock is called at most once, and returns at most once, after the call.
//
// A bug of a writer could hide a violation: a hold whose events are incomplete may be judged as a shorter one.
func WellFormed(events []history.Event) Verdict {
	v := on(events, ByWellFormed)
	v.Looked = fmt.Sprintf("%d events", len(events))
	acquisitions := map[history.ID]steps{}
	last := time.Duration(0)
	for _, e := range events {
		if e.T < last {
			v.find("", []history.Event{e}, "the history is not in the order of its times: %v after %v", e.T, last)
			return v
		}
		last = e.T
		if acquisitions[e.ID()] == nil {
			acquisitions[e.ID()] = steps{}
		}
		had := acquisitions[e.ID()]
		if wrong := had.wrong(e); wrong != "" {
			v.find(e.Name, []history.Event{e}, "%s %s", who(e.ID()), wrong)
		}
		had[e.Kind] = true
	}
	return v
}

// steps are the kinds of the events of one acquisition that the history has so far. A client that was killed may have
// written only the first few.
type steps map[history.Kind]bool

// wrong says why no client writes the event next; "" if a client may.
func (had steps) wrong(e history.Event) string {
	switch e.Kind {
	case history.Invoked:
		if had[history.Invoked] {
			return "asked twice"
		}
	case history.Acquired:
		switch {
		case had[history.Acquired]:
			return "acquired twice"
		case !had[history.Invoked]:
			return fmt.Sprintf("acquired %q, which it never asked for", e.Name)
		case e.Until == 0:
			return fmt.Sprintf("acquired %q without a deadline", e.Name)
		}
	case history.Extended, history.Lost, history.ReleaseCalled, history.Released:
		switch {
		case !had[history.Acquired]:
			return fmt.Sprintf("wrote %q of what was never acquired", e.Kind)
		case e.Kind == history.ReleaseCalled && had[e.Kind]:
			return "called its unlock twice"
		case e.Kind == history.Released && had[e.Kind]:
			return "returned twice from its unlock"
		case e.Kind == history.Released && !had[history.ReleaseCalled]:
			return "returned from an unlock that it never called"
		}
	default: // does not concern a hold
	}
	return ""
}
