package check

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// LossNotified checks that a holder learns of a loss in time: after the last Until that the holder knew, its process
// runs for at most [Terms.Slack] before its context ends or it unlocks of its own accord. The same holds for an
// extension whose answer comes after Until. A holder that writes nothing more is judged at the last line that its
// process wrote.
//
// Time in which the process did not run does not count, because some faults freeze clients.
func LossNotified(events []history.Event, t Terms) Verdict {
	v := on(events, ByLossNotified)
	alive := livesOf(events, t.Clients)
	type open struct {
		acquired, deadline history.Event // deadline is the event that gave until
		until              time.Duration
	}
	holding := map[history.ID]*open{}
	var held, notified int
	var slowest time.Duration
	late := func(o *open, id history.ID, at time.Duration, by []history.Event, what string) {
		over := alive.ran(lifeOf(id), o.until, at)
		if over <= t.Slack {
			return
		}
		v.find(o.acquired.Name, append([]history.Event{o.deadline}, by...),
			"%q: %s believed until %s, and "+what+" %s; its process ran for %v in between, allowed are %v",
			o.acquired.Name, who(id), moment(o.until), moment(at), over.Round(time.Microsecond), t.Slack)
	}
	for _, e := range events {
		id := e.ID()
		o := holding[id]
		switch {
		case e.Kind == history.Acquired:
			held++
			holding[id] = &open{acquired: e, deadline: e, until: e.Until}
		case o == nil: // not held, or already lost
		case e.Kind == history.Extended:
			late(o, id, e.T, []history.Event{e}, "learned of an extension only at")
			o.deadline, o.until = e, max(e.Until, e.T)
		case e.Kind == history.Lost:
			notified++
			if e.T > o.until {
				slowest = max(slowest, alive.ran(lifeOf(id), o.until, e.T))
			}
			late(o, id, e.T, []history.Event{e}, "was notified of the loss only at")
			delete(holding, id)
		case e.Kind == history.ReleaseCalled:
			late(o, id, e.T, []history.Event{e}, "was not notified of a loss before it unlocked at")
			delete(holding, id)
		}
	}
	for _, h := range holds(events) { // in the order of the history, which the map does not have
		if o := holding[h.who]; o != nil {
			last := alive.last[lifeOf(h.who)]
			late(o, h.who, last, nil, "was not notified though its process ran until")
		}
	}
	v.Looked = fmt.Sprintf("%d holds, %d notified of a loss, the slowest %v after Until (allowed %v)",
		held, notified, slowest.Round(time.Microsecond), t.Slack)
	return v
}
