package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Held is a time in which a name cannot be acquired.
type Held struct {
	Name     string
	From, To time.Duration
	// Readers says that it keeps out readers only.
	Readers bool
}

// Free checks that no acquisition that may wait did so for longer than most while all its names were free. It can be
// judged only where every client runs all the time: in virtual time. died has the times at which clients died; an
// acquisition that had not returned then shows nothing.
func Free(events []history.Event, held []Held, died map[string]time.Duration, most time.Duration) Verdict {
	v := on(events, "liveness")
	held = slices.Clone(held)
	slices.SortStableFunc(held, func(a, b Held) int { return cmp.Compare(a.From, b.From) })
	asked := map[history.ID]history.Event{}
	waited := 0
	for _, e := range events {
		switch e.Kind {
		case history.Invoked:
			asked[e.ID()] = e
			continue
		case history.Acquired, history.Refused:
		default:
			continue
		}
		begin, ok := asked[e.ID()]
		at, dead := died[e.Client]
		if !ok || begin.Try || dead && e.T >= at {
			continue
		}
		waited++
		free := begin.T
		look := func(until time.Duration) {
			if until = min(until, e.T); until-free > most {
				v.find(e.Name, []history.Event{begin, e}, "%s waited for a %s of %q though nobody held it from %s to %s; allowed are %v",
					who(e.ID()), kinds.Of(e.Mode).Name, e.Name, moment(free), moment(until), most)
			}
		}
		for _, h := range held {
			if slices.Contains(e.Locked(), h.Name) && (!h.Readers || kinds.Of(e.Mode).Reads()) {
				look(h.From)
				free = max(free, h.To)
			}
		}
		look(e.T)
	}
	v.Looked = fmt.Sprintf("%d acquisitions that may wait", waited)
	return v
}
