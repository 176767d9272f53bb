package check

import (
	"maps"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// A hold is one successful acquisition, with the intervals in which its holder believed that it held the lock.
type hold struct {
	who history.ID
	// asked is the Invoked of the acquisition, acquired its return.
	asked, acquired *history.Event
	beliefs         []Interval
	// ended is the end of the last belief.
	ended time.Duration
	// called and returned are the call and the return of the unlock; nil if there was none.
	called, returned *history.Event
}

// clean reports whether the unlock was confirmed.
func (h *hold) clean() bool { return h.returned != nil && h.returned.Err == "" }

// ends returns the event that ended the last belief, or the acquisition if there was none.
func (h *hold) ends() *history.Event {
	if len(h.beliefs) == 0 {
		return h.acquired
	}
	return h.beliefs[len(h.beliefs)-1].to
}

// An Interval is a time in which a holder believed that it held its lock. [Exclusion] judges these intervals.
type Interval struct {
	Who history.ID
	// Begin and End bound the belief. Expired says that its deadline ended it.
	Begin, End time.Duration
	Expired    bool
	// Acquired is the acquisition.
	Acquired *history.Event

	hold *hold
	// from and to are the events that bound it. If the deadline ended it, to is the event that set the deadline.
	from, to *history.Event
}

// Intervals returns the intervals of all holders, in the order of the acquisitions.
func Intervals(events []history.Event) []Interval { return beliefs(holds(events)) }

func beliefs(of []*hold) (all []Interval) {
	for _, h := range of {
		all = append(all, h.beliefs...)
	}
	return all
}

// A group identifies holders that may hold at once, as package kinds says: the readers of a name, the holds of one
// owner of a reentrant lock, or the holders of a semaphore with one number of slots. Every other hold is a group of its
// own.
type group struct {
	shared, owner string
	slots         int // how many may hold at once; 0: any number
	sole          history.ID
}

func groupOf(h *hold) group {
	switch kind := kinds.Of(h.acquired.Mode); {
	case kind.Shares == kinds.WithAll:
		return group{shared: kind.Name}
	case kind.Shares == kinds.WithOwner && h.acquired.Owner != "":
		return group{shared: kind.Name, owner: h.acquired.Owner}
	case kind.Slotted():
		return group{shared: kind.Name, slots: h.acquired.Slots}
	default:
		return group{sole: h.who}
	}
}

// holds derives the holds and beliefs from a history, in the order of the acquisitions.
//
// A belief begins when Lock has returned. It ends when Unlock is about to be called or at the last deadline that the
// holder knew of, whichever comes first. The beginning is stamped after Lock has returned and the end before Unlock is
// called, so that a reported overlap is a real one, while an overlap of microseconds may go unnoticed. Without the call
// in the history, which [WellFormed] finds, the return of Unlock ends the belief.
//
// A notification of a loss does not end a belief: the goroutine that would deliver it may not be scheduled, so a holder
// may rely on its deadline. So if another client gets the lock before that deadline, it is a violation, whatever faults
// were injected.
//
// The belief of a killed holder lasts until the last deadline that it wrote, because it may have started work that only
// the deadline bounds. An extension that it did not write is not counted. The belief of a frozen holder ends at its
// deadline, whatever the holder does after it thaws. A deadline that a holder learns after the previous one has passed
// starts a new belief.
//
// In virtual time, a holder may call Unlock in the moment in which Lock returned. Its belief then has no length, but
// must not lie within another's.
func holds(events []history.Event) []*hold {
	var all []*hold
	asked := map[history.ID]*history.Event{}
	open := map[history.ID]*openBelief{}
	for i := range events {
		e := &events[i]
		id := e.ID()
		o := open[id]
		switch {
		case e.Kind == history.Invoked:
			asked[id] = e
		case e.Kind == history.Acquired:
			h := &hold{who: id, asked: e, acquired: e}
			if call, ok := asked[id]; ok {
				h.asked = call
			}
			all = append(all, h)
			open[id] = &openBelief{until: e.Until, Interval: Interval{
				Who: id, Begin: e.T, Acquired: e, hold: h, from: e, to: e,
			}}
		case o == nil: // not held
		case e.Kind == history.Extended:
			o.extend(e)
		case e.Kind == history.ReleaseCalled:
			o.hold.called = e
			o.finish(e.T, e)
		case e.Kind == history.Released:
			if o.hold.called == nil {
				o.finish(e.T, e)
			}
			o.hold.returned = e
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

// An openBelief is a belief that has not ended yet while the history is read.
type openBelief struct {
	Interval
	until time.Duration
}

// finish ends the belief at its deadline or at end, whichever comes first.
func (o *openBelief) finish(end time.Duration, by *history.Event) {
	if o.until <= end {
		end = o.until
	} else {
		o.to = by
	}
	o.End, o.Expired = end, o.to.Kind == history.Acquired || o.to.Kind == history.Extended
	o.hold.ended = max(o.hold.ended, o.Begin, end)
	if o.End > o.Begin || o.End == o.Begin && !o.Expired {
		o.hold.beliefs = append(o.hold.beliefs, o.Interval)
	}
}

func (o *openBelief) extend(e *history.Event) {
	if o.hold.called != nil {
		return // an extension that returns during the unlock changes no belief
	}
	if e.T >= o.until { // the old belief had ended
		o.finish(o.until, e)
		o.Begin, o.from = e.T, e
	}
	// The holder believed in the old deadline until e.T, even if the new deadline has already passed.
	o.until, o.to = max(e.Until, e.T), e
}

// fenceGroup returns the group of holds whose fencing tokens need not grow from one to the next. It is groupOf, except
// that every permit of a semaphore is a group of its own, because each has its own token.
func fenceGroup(h *hold) group {
	if kinds.Of(h.acquired.Mode).Slotted() {
		return group{sole: h.who}
	}
	return groupOf(h)
}

// nameHolds has the holds of one name, in the order of the acquisitions.
type nameHolds struct {
	name  string
	holds []*hold
}

// byName returns the holds of each name, in the order of the names. A lock of several names is held in each of them.
func byName(all []*hold) []nameHolds {
	of := map[string][]*hold{}
	for _, h := range all {
		for _, name := range h.acquired.Locked() {
			of[name] = append(of[name], h)
		}
	}
	var names []nameHolds
	for _, name := range slices.Sorted(maps.Keys(of)) {
		names = append(names, nameHolds{name, of[name]})
	}
	return names
}

func askedAt(h *hold) time.Duration    { return h.asked.T }
func acquiredAt(h *hold) time.Duration { return h.acquired.T }
func endedAt(h *hold) time.Duration    { return h.ended }

// Share reports whether two acquisitions may hold a name at the same time.
func Share(a, b history.Event) bool {
	g := groupOf(&hold{who: a.ID(), acquired: &a})
	return g == groupOf(&hold{who: b.ID(), acquired: &b})
}
