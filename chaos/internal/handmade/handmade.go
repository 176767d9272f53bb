// Package handmade reads the histories that tests write by hand.
package handmade

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Name is the name of every lock whose statement gives no other.
const Name = "orders"

// History returns the events that a text states, in the order of their times. Statements end with a semicolon. Each has
// a subject, a verb, a time or two (in milliseconds, if without a unit), and attributes. It panics at any other text.
//
//	a holds 10-20         asks at 0, acquires at 10, unlocks at 20; its deadline is 10 s later
//	a keeps 10-90         asks at 0, acquires at 10 until the deadline 90, and writes nothing more
//	a asks 5              asks, and writes nothing more
//	a gets 10-90          acquires without having asked
//	a refused 10          asks at 0, and is refused at 10
//	a extends 40-130      learns at 40 of the deadline 130
//	a lost 40             is notified of a loss
//	a unlocks 50          calls the unlock at 50, which returns at 50.5
//	a calls 50            calls the unlock
//	a returns 50          returns from it
//	a stalls 10-50        did not run from 10 to 50
//	a quits 60            has closed its locker
//	a reads 20            reads the fenced register; also "writes" and "rejected"
//	calm begins 100       a phase
//	kill lasts 10-50      a fault of master 0: injected at 10, healed at 49, healthy at 50
//	kill injected 10      a fault of master 0; also "healed" and "healthy"
//	keys seen 60          master 0 has no keys
//	sockets seen 60       master 0 has no connections
//
// The attributes are in the function set. An example: "b holds 30-40 reader #6 asked=11".
func History(text string) []history.Event {
	var all []history.Event
	for _, s := range strings.Split(text, ";") {
		words := strings.Fields(s)
		if len(words) == 0 {
			continue
		}
		if len(words) < 3 {
			panic("handmade: not a statement: " + s)
		}
		stated := statement(words[0], words[1], words[2])
		for _, attribute := range words[3:] {
			set(stated, attribute)
		}
		all = append(all, stated...)
	}
	history.Sort(all)
	return all
}

// events are the verbs of a client that state one event.
var events = map[string]history.Kind{
	"asks": history.Invoked, "gets": history.Acquired, "extends": history.Extended, "lost": history.Lost,
	"calls": history.ReleaseCalled, "returns": history.Released, "stalls": history.Stalled, "quits": history.Quitting,
	"reads": history.Read, "writes": history.Written, "rejected": history.Rejected,
}

// ofFaults are the verbs of a fault that state one event.
var ofFaults = map[string]history.Kind{
	"injected": history.Inject, "healed": history.Heal, "healthy": history.Healthy,
}

// statement returns the events of a statement without attributes.
func statement(subject, verb, when string) []history.Event {
	first, second, _ := strings.Cut(when, "-")
	from, to := at(first), at(second)
	client := func(t time.Duration, kind history.Kind) history.Event {
		e := history.Event{T: t, Kind: kind, Client: subject, Op: 1, Name: Name, TTL: time.Second}
		switch kind {
		case history.Acquired, history.Extended:
			e.Until = to
		case history.Stalled:
			e.T, e.Stall = to, to-from
		case history.Read, history.Written, history.Rejected:
			e.Register = history.Fenced
		}
		return e
	}
	fault := func(t time.Duration, kind history.Kind) history.Event {
		return history.Event{T: t, Kind: kind, Fault: subject, On: "masters", Targets: []int{0}}
	}
	const answer = time.Millisecond / 2
	asked := client(0, history.Invoked)
	acquired := client(from, history.Acquired)
	switch verb {
	case "holds":
		acquired.Until += 10 * time.Second
		return []history.Event{
			asked, acquired, client(to, history.ReleaseCalled), client(to+answer, history.Released),
		}
	case "keeps":
		return []history.Event{asked, acquired}
	case "refused":
		return []history.Event{asked, client(from, history.Refused)}
	case "unlocks":
		return []history.Event{client(from, history.ReleaseCalled), client(from+answer, history.Released)}
	case "lasts":
		return []history.Event{
			fault(from, history.Inject), fault(to-time.Millisecond, history.Heal), fault(to, history.Healthy),
		}
	case "begins":
		return []history.Event{{T: from, Kind: history.Phase, Phase: subject}}
	case "seen":
		return []history.Event{{T: from, Kind: history.Kind(subject)}}
	}
	if kind, ok := ofFaults[verb]; ok {
		return []history.Event{fault(from, kind)}
	}
	if kind, ok := events[verb]; ok {
		return []history.Event{client(from, kind)}
	}
	panic("handmade: no verb: " + verb)
}

// set applies an attribute to the events of a statement. Some attributes concern only the first or the last of them.
func set(events []history.Event, attribute string) {
	key, value, _ := strings.Cut(attribute, "=")
	first, last := &events[0], &events[len(events)-1]
	switch key {
	case "asked":
		first.T = at(value)
		return
	case "err":
		last.Err = value
		return
	case "left": // a key at a master; without "ends" it has no TTL
		last.Held = append(last.Held, history.Key{Name: value, Token: "a:token", Left: -1})
		return
	case "ends":
		last.Held[len(last.Held)-1].Left = at(value)
		return
	}
	for i := range events {
		setOne(&events[i], key, value)
	}
}

func setOne(e *history.Event, key, value string) {
	switch key {
	case kinds.Mutex, kinds.Reader, kinds.Writer:
		e.Mode = key
	case kinds.Leader: // it always asks for a token
		e.Mode, e.Fencing = key, true
	case "owner":
		e.Mode, e.Owner = kinds.Reentrant, value
	case "slots":
		e.Mode, e.Slots = kinds.Semaphore, number(value)
	case "names":
		e.Mode, e.Name, e.Names = kinds.Several, value, strings.Split(value, ",")
	case "name":
		e.Name = value
	case "fenced":
		e.Fencing = true
	case "try":
		e.Try = true
	case "keepalive":
		e.Keepalive = true
	case "min":
		e.MinHold = at(value)
	case "life":
		e.Life = number(value)
	case "op":
		e.Op = number(value)
	case history.Calm:
		e.Phase = key
	case history.Trusting:
		e.Register = key
	case "from":
		e.From = int64(number(value))
	case "value":
		e.Value = int64(number(value))
	case "on": // masters
		e.Targets = numbers(value)
		e.Master = e.Targets[0]
	case "clients":
		e.On, e.Targets = key, numbers(value)
	case "connections":
		e.Connections = number(value)
	case "channels":
		e.Channels = strings.Split(value, ",")
	case "goroutines":
		e.Goroutines = number(value)
	default:
		token, ok := strings.CutPrefix(key, "#")
		if !ok {
			panic("handmade: no attribute: " + key)
		}
		e.Fence = uint64(number(token))
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("handmade: %v", err))
	}
	return n
}

func numbers(text string) (all []int) {
	for _, n := range strings.Split(text, ",") {
		all = append(all, number(n))
	}
	return all
}

// at reads a time; "" is 0.
func at(text string) time.Duration {
	if ms, err := strconv.ParseFloat(text, 64); err == nil || text == "" {
		return time.Duration(ms * float64(time.Millisecond))
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("handmade: %v", err))
	}
	return d
}
