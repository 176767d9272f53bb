package controls

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// until returns what happened up to a moment before the history was read. Of what came later, the files that were read
// first have less than the others: a lock could be seen to be taken, and not to be given back before.
func until(moment time.Duration, events []history.Event) []history.Event {
	n := slices.IndexFunc(events, func(e history.Event) bool { return e.T > moment })
	if n < 0 {
		return events
	}
	return events[:n]
}

// proper returns nil if the verdict is worth something: the harness worked, locks were held, and where nothing was
// found it is not for want of harm.
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
	case t.by.before == nil && acquired < harm: // what is done before the others speak shows more
		return errors.New("no client got a lock once the harm was done")
	}
	return nil
}
