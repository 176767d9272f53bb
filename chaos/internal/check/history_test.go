package check_test

import (
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// story writes histories by hand, in milliseconds.
type story struct{ events []history.Event }

const lockName = "orders"

func at(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func (s *story) add(ms float64, kind history.Kind, client string, op int, more func(*history.Event)) *story {
	e := history.Event{T: at(ms), Kind: kind, Client: client, Op: op, Name: lockName, TTL: time.Second}
	if more != nil {
		more(&e)
	}
	s.events = append(s.events, e)
	history.Sort(s.events)
	return s
}

func (s *story) acquired(ms float64, client string, op int, until float64) *story {
	return s.add(ms, history.Acquired, client, op, func(e *history.Event) {
		e.Until, e.Token = at(until), client+":token"
	})
}

func (s *story) extended(ms float64, client string, op int, until float64) *story {
	return s.add(ms, history.Extended, client, op, func(e *history.Event) { e.Until = at(until) })
}

func (s *story) unlocks(ms float64, client string, op int) *story {
	return s.add(ms, history.ReleaseCalled, client, op, nil).add(ms+0.5, history.Released, client, op, nil)
}

func (s *story) lost(ms float64, client string, op int) *story {
	return s.add(ms, history.Lost, client, op, nil)
}

func (s *story) named(name string) *story {
	s.events[len(s.events)-1].Name = name
	return s
}

// with changes the last event of the history that is of a client and a kind.
func (s *story) with(kind history.Kind, client string, op int, change func(*history.Event)) *story {
	for i := len(s.events) - 1; i >= 0; i-- {
		if e := &s.events[i]; e.Kind == kind && e.Client == client && e.Op == op {
			change(e)
			return s
		}
	}
	panic("the story has no " + string(kind) + " of " + client)
}

// held is a whole acquisition: asked for, got, and unlocked.
func (s *story) held(asked, got, unlock float64, client string, op int, change ...func(*history.Event)) *story {
	return s.kept(asked, got, got+10_000, client, op, change...).unlocks(unlock, client, op)
}

// kept is an acquisition that nobody unlocks.
func (s *story) kept(asked, got, until float64, client string, op int, change ...func(*history.Event)) *story {
	all := func(e *history.Event) {
		for _, c := range change {
			c(e)
		}
	}
	s.add(asked, history.Invoked, client, op, all).acquired(got, client, op, until)
	return s.with(history.Acquired, client, op, all)
}

func reader(e *history.Event) { e.Mode = history.ModeReader }
func writer(e *history.Event) { e.Mode = history.ModeWriter }

func owner(name string) func(*history.Event) {
	return func(e *history.Event) { e.Mode, e.Owner = history.ModeReentrant, name }
}

func several(names ...string) func(*history.Event) {
	return func(e *history.Event) { e.Mode, e.Names, e.Name = history.ModeSeveral, names, strings.Join(names, ",") }
}

// granted are the votes of these masters.
func granted(masters ...int) func(*history.Event) {
	return func(e *history.Event) {
		for _, m := range masters {
			e.Votes = append(e.Votes, history.Vote{Master: m, Verdict: "granted"})
		}
	}
}

func fenced(e *history.Event) { e.Fencing = true }

func fence(token uint64) func(*history.Event) { return func(e *history.Event) { e.Fence = token } }

func (s *story) downgraded(ms float64, client string, op int) *story {
	return s.add(ms, history.Downgraded, client, op, nil)
}

func (s *story) phase(ms float64, name string) *story {
	s.events = append(s.events, history.Event{T: at(ms), Kind: history.Phase, Phase: name})
	history.Sort(s.events)
	return s
}

func (s *story) fault(ms float64, kind history.Kind, name string, targets ...int) *story {
	s.events = append(s.events, history.Event{T: at(ms), Kind: kind, Fault: name, On: "masters", Targets: targets})
	history.Sort(s.events)
	return s
}

func (s *story) keys(ms float64, master int, held ...history.Key) *story {
	s.events = append(s.events, history.Event{T: at(ms), Kind: history.Keys, Master: master, Held: held})
	history.Sort(s.events)
	return s
}
