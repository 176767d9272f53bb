package check

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Told checks that losses are told in time: from the last Until that a holder knew, its process ran for no longer than
// slack before its context ended or it unlocked of its own accord. Time in which the process did not run does not count. If
// it noticed that others had the processors, as much is added to slack: it is one goroutine that notices, and another that tells.
// An extension that is heard of after Until must come as soon. A holder that says nothing any more is judged by the last
// line that its process wrote: as long as that came, somebody could have been told.
func LossNotified(events []history.Event, clients []string, slack time.Duration) Verdict {
	v := on(events, "loss notified")
	alive := livesOf(events, clients)
	type open struct {
		acquired, deadline history.Event // deadline is the event that gave until
		until              time.Duration
	}
	holding := map[history.ID]*open{}
	var held, told int
	var slowest time.Duration
	late := func(o *open, id history.ID, at time.Duration, by []history.Event, what string) {
		over, allowed := alive.ran(lifeOf(id), o.until, at), slack+alive.starved(lifeOf(id), o.until, at)
		if at <= o.until || over <= allowed {
			return
		}
		v.find(o.acquired.Name, append([]history.Event{o.deadline}, by...), "%q: %s believed until %s, and "+what+" %s; its process ran for %v in between, allowed are %v",
			o.acquired.Name, who(id), moment(o.until), moment(at), over.Round(time.Microsecond), allowed.Round(time.Microsecond))
	}
	for _, e := range events {
		id := e.ID()
		o := holding[id]
		switch {
		case e.Kind == history.Acquired:
			held++
			holding[id] = &open{acquired: e, deadline: e, until: e.Until}
		case o == nil: // nothing to be told about
		case e.Kind == history.Extended:
			late(o, id, e.T, []history.Event{e}, "heard of an extension only at")
			o.deadline, o.until = e, max(e.Until, e.T)
		case e.Kind == history.Lost:
			told++
			if e.T > o.until {
				slowest = max(slowest, alive.ran(lifeOf(id), o.until, e.T))
			}
			late(o, id, e.T, []history.Event{e}, "was told of the loss only at")
			delete(holding, id)
		case e.Kind == history.ReleaseCalled:
			late(o, id, e.T, []history.Event{e}, "nobody told it of a loss before it unlocked at")
			delete(holding, id)
		}
	}
	for _, h := range holds(events) { // in the order of the history, as a map is not
		if o := holding[h.who]; o != nil {
			last := alive.last[lifeOf(h.who)]
			late(o, h.who, last, nil, "was told nothing though its process went on until")
		}
	}
	v.Looked = fmt.Sprintf("%d holds, %d told of a loss, the slowest %v after Until (allowed %v)", held, told, slowest.Round(time.Microsecond), slack)
	v.Figures = []Figure{{"losses told", told}}
	return v
}
