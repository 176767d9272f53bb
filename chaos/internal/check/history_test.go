package check_test

import (
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// builder writes histories by hand, in milliseconds.
type builder struct{ events []history.Event }

const lockName = "orders"

func at(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func (s *builder) add(ms float64, kind history.Kind, client string, op int, more func(*history.Event)) *builder {
	e := history.Event{T: at(ms), Kind: kind, Client: client, Op: op, Name: lockName, TTL: time.Second}
	if more != nil {
		more(&e)
	}
	s.events = append(s.events, e)
	history.Sort(s.events)
	return s
}

func (s *builder) acquired(ms float64, client string, op int, until float64) *builder {
	return s.add(ms, history.Acquired, client, op, func(e *history.Event) {
		e.Until, e.Token = at(until), client+":token"
	})
}

func (s *builder) extended(ms float64, client string, op int, until float64) *builder {
	return s.add(ms, history.Extended, client, op, func(e *history.Event) { e.Until = at(until) })
}

func (s *builder) unlocks(ms float64, client string, op int) *builder {
	return s.add(ms, history.ReleaseCalled, client, op, nil).add(ms+0.5, history.Released, client, op, nil)
}

func (s *builder) lost(ms float64, client string, op int) *builder {
	return s.add(ms, history.Lost, client, op, nil)
}

func (s *builder) named(name string) *builder {
	s.events[len(s.events)-1].Name = name
	return s
}

// with changes the last event of the history that is of a client and a kind.
func (s *builder) with(kind history.Kind, client string, op int, change func(*history.Event)) *builder {
	for i := len(s.events) - 1; i >= 0; i-- {
		if e := &s.events[i]; e.Kind == kind && e.Client == client && e.Op == op {
			change(e)
			return s
		}
	}
	panic("the history has no " + string(kind) + " of " + client)
}

// held is a whole acquisition: asked for, got, and unlocked.
func (s *builder) held(asked, got, unlock float64, client string, op int, change ...func(*history.Event)) *builder {
	return s.kept(asked, got, got+10_000, client, op, change...).unlocks(unlock, client, op)
}

// kept is an acquisition that is not unlocked.
func (s *builder) kept(asked, got, until float64, client string, op int, change ...func(*history.Event)) *builder {
	all := func(e *history.Event) {
		for _, c := range change {
			c(e)
		}
	}
	s.add(asked, history.Invoked, client, op, all).acquired(got, client, op, until)
	return s.with(history.Acquired, client, op, all)
}

func reader(e *history.Event) { e.Mode = kinds.Reader }
func writer(e *history.Event) { e.Mode = kinds.Writer }

func owner(name string) func(*history.Event) {
	return func(e *history.Event) { e.Mode, e.Owner = kinds.Reentrant, name }
}

func several(names ...string) func(*history.Event) {
	return func(e *history.Event) { e.Mode, e.Names, e.Name = kinds.Several, names, strings.Join(names, ",") }
}

func fenced(e *history.Event) { e.Fencing = true }

func fence(token uint64) func(*history.Event) { return func(e *history.Event) { e.Fence = token } }

func (s *builder) phase(ms float64, name string) *builder {
	s.events = append(s.events, history.Event{T: at(ms), Kind: history.Phase, Phase: name})
	history.Sort(s.events)
	return s
}

func (s *builder) fault(ms float64, kind history.Kind, name string, targets ...int) *builder {
	s.events = append(s.events, history.Event{T: at(ms), Kind: kind, Fault: name, On: "masters", Targets: targets})
	history.Sort(s.events)
	return s
}

func (s *builder) keys(ms float64, master int, held ...history.Key) *builder {
	s.events = append(s.events, history.Event{T: at(ms), Kind: history.Keys, Master: master, Held: held})
	history.Sort(s.events)
	return s
}

// down is a fault of masters from one time to another.
func (s *builder) down(from, to float64, fault string, masters ...int) *builder {
	for _, m := range masters {
		s.fault(from, history.Inject, fault, m).fault(to-1, history.Heal, fault, m).fault(to, history.Healthy, fault, m)
	}
	return s
}

func (s *builder) refused(asked, answered float64, client string, op int) *builder {
	return s.add(asked, history.Invoked, client, op, nil).add(answered, history.Refused, client, op, nil)
}
