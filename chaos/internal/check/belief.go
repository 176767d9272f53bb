package check

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// hold is one acquisition that returned with a lock, and what its holder believed of it.
type hold struct {
	who history.ID
	// asked is the Invoked of the acquisition, acquired its return.
	asked, acquired history.Event
	beliefs         []belief
	// ended is when the last of the beliefs ended.
	ended time.Duration
	// called and returned are the unlock, if it came to that; clean: it is confirmed.
	called, returned *history.Event
}

func (h *hold) clean() bool { return h.returned != nil && h.returned.Err == "" }

// belief is one stretch of time in which one holder took itself for the holder of its names.
type belief struct {
	hold       *hold
	mode       string // what it believed itself to be
	start, end time.Duration
	// from and to are the events that bound it; to is the one that gave the deadline, if the deadline ended it.
	from, to history.Event
}

// group is what holders that may hold at once have in common: the readers of a name, or the holds of one owner of a
// reentrant lock. Everybody else is a group of its own.
type group struct {
	shared, owner string
	alone         history.ID
}

func groupOf(mode string, h *hold) group {
	switch {
	case mode == history.ModeReader:
		return group{shared: history.ModeReader}
	case mode == history.ModeReentrant && h.acquired.Owner != "":
		return group{shared: history.ModeReentrant, owner: h.acquired.Owner}
	default:
		return group{alone: h.who}
	}
}

// holds derives who held and believed what from a history in order of time; they are in the order in which they were
// acquired.
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
//
// A downgrade splits a belief: from the call on it is a reader's, whatever comes of the call.
func holds(events []history.Event) []*hold {
	var all []*hold
	asked := map[history.ID]history.Event{}
	open := map[history.ID]*holding{}
	for _, e := range events {
		id := e.ID()
		o := open[id]
		switch {
		case e.Kind == history.Invoked:
			asked[id] = e
		case e.Kind == history.Acquired:
			h := &hold{who: id, asked: e, acquired: e}
			if i, ok := asked[id]; ok {
				h.asked = i
			}
			all = append(all, h)
			open[id] = &holding{belief: belief{hold: h, mode: e.Mode, start: e.T, from: e, to: e}, until: e.Until}
		case o == nil: // nothing is held that the others could touch
		case e.Kind == history.Extended:
			o.extend(e)
		case e.Kind == history.Downgraded:
			o.downgrade(e)
		case e.Kind == history.ReleaseCalled:
			o.hold.called = &e
			o.finish(e.T, e)
		case e.Kind == history.Released:
			o.hold.returned = &e
			delete(open, id)
		}
	}
	for _, o := range open {
		if o.hold.called == nil {
			o.finish(o.until, o.to)
		}
	}
	return all
}

// holding is the belief that is running while the history is read.
type holding struct {
	belief
	until time.Duration
}

// finish ends the belief, by its deadline or at end, whichever is first.
func (o *holding) finish(end time.Duration, by history.Event) {
	if o.until <= end {
		end = o.until
	} else {
		o.to = by
	}
	o.end = end
	o.hold.ended = max(o.hold.ended, o.start, end)
	if o.end > o.start {
		o.hold.beliefs = append(o.hold.beliefs, o.belief)
	}
}

func (o *holding) extend(e history.Event) {
	if o.hold.called != nil {
		return // what an extension on its way says then, nobody believes
	}
	if e.T >= o.until { // the old belief had ended: a gap
		o.finish(o.until, e)
		o.start, o.from = e.T, e
	}
	// Up to this moment the old deadline was believed, even if the new one turns out to have passed.
	o.until, o.to = max(e.Until, e.T), e
}

func (o *holding) downgrade(e history.Event) {
	if o.hold.called != nil {
		return
	}
	to := o.to
	o.finish(e.T, e)
	// A belief that had ended is not begun anew by giving up a part of it; if an extension comes, it is a reader's.
	o.start, o.mode, o.from, o.to = e.T, history.ModeReader, e, to
}

// byName tells the beliefs in each name, and the names in order.
func byName(all []*hold) (map[string][]belief, []string) {
	beliefs := map[string][]belief{}
	for _, h := range all {
		for _, name := range h.acquired.Locked() {
			beliefs[name] = append(beliefs[name], h.beliefs...)
		}
	}
	return beliefs, sorted(beliefs)
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
