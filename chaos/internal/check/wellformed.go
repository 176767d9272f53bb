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
	acquisitions := map[history.ID]*steps{}
	last := time.Duration(0)
	for _, e := range events {
		if e.T < last {
			v.find("", []history.Event{e}, "the history is not in the order of its times: %v after %v", e.T, last)
			return v
		}
		last = e.T
		s := acquisitions[e.ID()]
		if s == nil {
			s = &steps{}
			acquisitions[e.ID()] = s
		}
		if wrong := s.wrong(e); wrong != "" {
			v.find(e.Name, []history.Event{e}, "%s %s", who(e.ID()), wrong)
		}
		s.take(e.Kind)
	}
	return v
}

// steps are the events of one acquisition that the history has so far. A client that was killed may have written only
// the first few.
type steps struct{ invoked, acquired, called, released bool }

// take records the next event.
func (s *steps) take(kind history.Kind) {
	switch kind {
	case history.Invoked:
		s.invoked = true
	case history.Acquired:
		s.acquired = true
	case history.ReleaseCalled:
		s.called = true
	case history.Released:
		s.released = true
	default: // repeatable, or not of a hold
	}
}

// wrong says why no client writes the event next; "" if a client may.
func (s *steps) wrong(e history.Event) string {
	switch e.Kind {
	case history.Invoked:
		if s.invoked {
			return "asked twice"
		}
	case history.Acquired:
		return s.wrongAcquired(e)
	case history.Extended, history.Lost, history.ReleaseCalled, history.Released:
		if !s.acquired {
			return fmt.Sprintf("wrote %q of what was never acquired", e.Kind)
		}
		return s.wrongUnlock(e.Kind)
	default: // does not concern a hold
	}
	return ""
}

func (s *steps) wrongAcquired(e history.Event) string {
	switch {
	case s.acquired:
		return "acquired twice"
	case !s.invoked:
		return fmt.Sprintf("acquired %q, which it never asked for", e.Name)
	case e.Until == 0:
		return fmt.Sprintf("acquired %q without a deadline", e.Name)
	default:
		return ""
	}
}

func (s *steps) wrongUnlock(kind history.Kind) string {
	switch {
	case kind == history.ReleaseCalled && s.called:
		return "called its unlock twice"
	case kind == history.Released && s.released:
		return "returned twice from its unlock"
	case kind == history.Released && !s.called:
		return "returned from an unlock that it never called"
	default:
		return ""
	}
}
