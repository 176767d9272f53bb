package check

import (
	"time"

	"github.com/redlock-go/redlock/chaos/history"
)

// belief is one stretch of time in which one holder took itself for the holder of a name.
type belief struct {
	name       string
	who        history.ID
	start, end time.Duration
	// from and to are the events that bound it; to is the one that gave the deadline, if the deadline ended it.
	from, to history.Event
}

// beliefs derives who believed what from a history in order of time.
//
// A belief begins when Lock has returned. It ends when Unlock is about to be called or at the last deadline that the
// holder knew of, whichever comes first. Both ends lean to the holder's favour: the moment of the beginning is taken
// after Lock returned, that of the end before Unlock is called. So a reported overlap was one, while the microseconds
// around it may hide one.
//
// Being told of a loss ends no belief. The news travels, and takes a goroutine that is not running; a holder who goes by
// the deadline that it was given has not heard it. None of the faults here excuses a lock that was given to another
// before its holder's deadline, told or not.
//
// A holder that was killed believes nothing any more, but it may have set something in motion that only its deadline
// bounds; its belief therefore runs until the last deadline it wrote down. An extension that it did not live to write
// down is not counted. A frozen holder goes on believing until its deadline, and no longer, whatever it does when it
// thaws; a deadline learned after the previous one had passed starts a new belief at that moment.
func beliefs(events []history.Event) []belief {
	type open struct {
		belief
		until time.Duration
	}
	var all []belief
	holding := map[history.ID]*open{}

	finish := func(o *open, end time.Duration, by history.Event) {
		if o.until <= end {
			end = o.until
		} else {
			o.to = by
		}
		if o.end = end; o.end > o.start {
			all = append(all, o.belief)
		}
	}
	for _, e := range events {
		id := e.ID()
		switch e.Kind {
		case history.Acquired:
			holding[id] = &open{
				belief: belief{name: e.Name, who: id, start: e.T, from: e, to: e},
				until:  e.Until,
			}
		case history.Extended:
			o := holding[id]
			if o == nil {
				continue
			}
			if e.T >= o.until { // the old belief had ended: a gap
				finish(o, o.until, e)
				o.start, o.from = e.T, e
			}
			// Up to this moment the old deadline was believed, even if the new one turns out to have passed.
			o.until, o.to = max(e.Until, e.T), e
		case history.ReleaseCalled:
			if o := holding[id]; o != nil {
				finish(o, e.T, e)
				delete(holding, id)
			}
		default: // of the others, none starts or ends a belief
		}
	}
	for _, o := range holding {
		finish(o, o.until, o.to)
	}
	return all
}
