package check

import (
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// attempt is one acquisition, from the call to its return. If it never returned, it ends with the last event of its
// process.
type attempt struct {
	asked, answer history.Event
	span
}

func attempts(events []history.Event, alive lives) []attempt {
	var all []attempt
	at := map[history.ID]int{}
	for _, e := range events {
		switch i, ok := at[e.ID()]; {
		case e.Kind == history.Invoked:
			at[e.ID()] = len(all)
			all = append(all, attempt{asked: e, span: span{e.T, max(e.T, alive.last[lifeOf(e.ID())])}})
		case ok && (e.Kind == history.Acquired || e.Kind == history.Refused):
			all[i].answer, all[i].to = e, e.T
		}
	}
	return all
}

// longestTTLs returns the longest TTL that any client asks for on each name.
func longestTTLs(all []attempt) map[string]time.Duration {
	ttls := map[string]time.Duration{}
	for _, a := range all {
		for _, name := range a.asked.Locked() {
			ttls[name] = max(ttls[name], a.asked.TTL)
		}
	}
	return ttls
}
