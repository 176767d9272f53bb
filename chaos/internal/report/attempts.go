package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// attempt is one acquisition and its outcome.
type attempt struct {
	Asked   float64      `json:"a"`
	Answer  float64      `json:"b"`
	Held    [][2]float64 `json:"h,omitempty"` // intervals in which the client relied on it
	Modes   []string     `json:"m,omitempty"` // the mode in each of these intervals
	Outcome string       `json:"o"`
	Lost    float64      `json:"l,omitempty"` // when the client was notified of the loss
	Who     string       `json:"w"`
	Facts   string       `json:"f,omitempty"` // further facts, one per line
	Votes   []string     `json:"v,omitempty"`
	Bad     bool         `json:"x,omitempty"`

	id    history.ID
	names []string
	life  string
}

// attemptsOf returns all acquisitions of a history in the order in which the clients asked.
func attemptsOf(events []history.Event, c clock, bad map[history.ID]bool) []attempt {
	var all []attempt
	at := map[history.ID]int{}
	end := map[string]float64{} // time of the last event of each life
	for _, e := range events {
		id := e.ID()
		of := fmt.Sprintf("%s.%d", e.Client, e.Life)
		if e.Client != "" {
			end[of] = c.ms(e.T)
		}
		i, known := at[id]
		if !known && (e.Kind == history.Invoked || e.Kind == history.Acquired) {
			i, at[id] = len(all), len(all)
			all = append(all, attempt{
				Asked: c.ms(e.T), Answer: -1, Outcome: "never answered", Bad: bad[id], id: id, names: e.Locked(), life: of,
				Who: acquisition(e),
			})
		} else if !known {
			continue
		}
		all[i].hear(e, c)
	}
	for i := range all {
		if a := &all[i]; a.Answer < 0 {
			a.Answer = max(a.Asked, end[a.life])
		}
	}
	for _, s := range check.Intervals(events) {
		if i, ok := at[s.Who]; ok {
			all[i].Held = append(all[i].Held, [2]float64{c.ms(s.Begin), c.ms(s.End)})
			all[i].Modes = append(all[i].Modes, cmp.Or(s.Mode, kinds.Mutex))
		}
	}
	return all
}

// acquisition names the acquisition to which an event belongs.
func acquisition(e history.Event) string {
	return fmt.Sprintf("%s.%d, worker %d, acquisition %d", e.Client, e.Life, e.Worker, e.Op)
}

// hear adds the outcome and the votes of an event to the attempt.
func (a *attempt) hear(e history.Event, c clock) {
	switch e.Kind {
	case history.Acquired:
		a.Answer, a.Outcome = c.ms(e.T), "held, never unlocked"
		a.Facts = facts(e)
	case history.Refused:
		a.Answer, a.Outcome = c.ms(e.T), "refused: "+cmp.Or(e.Err, "no reason given")
	case history.Lost:
		a.Lost, a.Outcome = c.ms(e.T), "notified of the loss: "+cmp.Or(e.Err, "no reason given")
	case history.Released:
		switch {
		case e.Err != "":
			a.Outcome = "unlock not confirmed: " + e.Err
		case a.Lost == 0:
			a.Outcome = "unlocked"
		}
	default: // no outcome
	}
	for _, v := range e.Votes {
		text := fmt.Sprintf("%d %s", v.Master, v.Verdict)
		if v.Took > 0 {
			text += " in " + v.Took.Round(10*time.Microsecond).String()
		}
		if v.Err != "" {
			text += " (" + v.Err + ")"
		}
		a.Votes = append(a.Votes, text)
	}
}

func facts(e history.Event) string {
	var parts []string
	if e.Mode != "" {
		parts = append(parts, e.Mode)
	}
	if e.Owner != "" {
		parts = append(parts, "owner "+e.Owner)
	}
	if len(e.Names) > 1 {
		parts = append(parts, "names "+strings.Join(e.Names, ", "))
	}
	if e.Fence != 0 {
		parts = append(parts, fmt.Sprintf("fencing token %d", e.Fence))
	}
	if e.TTL != 0 {
		parts = append(parts, fmt.Sprintf("TTL %v", e.TTL))
	}
	return strings.Join(parts, "\n")
}
