package controls

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// until returns the events up to the moment at which the reading of the history began. Later events are incomplete: the
// files that were read first lack them, so that a lock could seem to be acquired before its release.
func until(moment time.Duration, events []history.Event) []history.Event {
	n := slices.IndexFunc(events, func(e history.Event) bool { return e.T > moment })
	if n < 0 {
		return events
	}
	return events[:n]
}

// proper returns nil if the verdict is meaningful: the harness worked, locks were held, and if nothing was found, the
// harm was done.
func (t *trial) proper(events []history.Event, v check.Verdict, over bool) error {
	for _, of := range []check.Verdict{check.Broken(events), check.Clients(events), check.WellFormed(events)} {
		if !of.Held() {
			return fmt.Errorf("%s: %s", of.Checker, of.Findings[0].Text)
		}
	}
	acquired, harm := -1, -1
	for i, e := range events {
		switch {
		case e.Kind == history.Acquired:
			acquired = i
		case e.Kind == history.Inject && harm < 0:
			harm = i
		}
	}
	switch {
	case acquired < 0:
		return errors.New("no client ever got a lock")
	case len(v.Findings) > 0:
		return nil
	case t.ends() && !over:
		return errors.Join(fmt.Errorf("it was not done in full within %v", bound), t.ended)
	case t.harm == nil:
		return nil
	case harm < 0:
		return errors.Join(fmt.Errorf("no harm was done within %v", bound), t.ended)
	case t.before == nil && acquired < harm: // the other checkers judge after another step, which shows more
		return errors.New("no client got a lock once the harm was done")
	}
	return nil
}
