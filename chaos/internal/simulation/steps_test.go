package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/replay"
	"github.com/redlock-go/redlock/internal/simnet"
)

// FencedMutexes returns the schedule with no kind of lock but mutexes with fencing tokens, which the model describes.
func (s Schedule) FencedMutexes() Schedule {
	s.Kinds, s.Fencing = []string{kinds.Mutex}, 1
	return s
}

// Steps returns what the run of a schedule of FencedMutexes did to a name, as steps of the model of fencing. It ends
// with the storm, after which the run acquires locks of other kinds, or with the last of so many attempts.
func (r *Result) Steps(name string, attempts int) replay.History {
	x := &extraction{result: r, name: name, attempts: map[string]*attempt{}, restarted: map[int]time.Time{}}
	x.read(r.Start.Add(r.Schedule.Storm))
	return x.history(attempts)
}

// A fencedCommand is a command that a master executed, and that granted, raised or extended.
type fencedCommand struct {
	op             replay.Op
	at             time.Time
	event          simnet.Event
	token          string
	number, answer int64
	restored       bool // the extension found no key and restored it
}

// An attempt is one acquisition with a token of its own.
type attempt struct {
	token   string
	host    string
	asked   time.Time
	client  int // index in the history, -1 before its first step
	granted []int64
	raised  []int64 // the numbers that it wrote back, in order
	written int     // how many of them are in the history
	held    bool
}

type extraction struct {
	result    *Result
	name      string
	commands  []fencedCommand
	attempts  map[string]*attempt // by token
	restarted map[int]time.Time   // the start of each master's present server, if the master has restarted
	steps     []replay.Step
	clients   int
}

// read reads the commands that were executed before end.
func (x *extraction) read(end time.Time) {
	for _, e := range x.result.Executed {
		if c, ok := x.command(e); ok && e.At.Before(end) {
			x.commands = append(x.commands, c)
		}
	}
	for _, a := range x.attempts {
		slices.Sort(a.raised)
		a.raised = slices.Compact(a.raised)
	}
}

// command reads one command about the name. ok is false if it changed nothing that the model has.
func (x *extraction) command(e simnet.Event) (c fencedCommand, ok bool) {
	if len(e.Args) < 8 || e.Args[3] != x.name || e.Args[2] != "2" {
		return c, false
	}
	reply, ok := strings.CutPrefix(strings.TrimSpace(e.Reply), ":")
	answer, err := strconv.ParseInt(reply, 10, 64)
	if !ok || err != nil || answer == 0 {
		return c, false
	}
	args := e.Args[5:]
	c = fencedCommand{at: e.At, event: e, token: args[0]}
	a := x.attempts[c.token]
	switch what := x.result.Labels.of(e); {
	case strings.HasPrefix(what, "Acquires a mutex"):
		c.op, c.number = replay.Grant, answer
		if a == nil {
			a = &attempt{token: c.token, host: e.Host, asked: e.At, client: -1}
			x.attempts[c.token] = a
		}
		a.granted = append(a.granted, answer)
	case strings.HasPrefix(what, "Raises the fences"):
		c.op, c.number, c.answer = replay.Raise, number(args[2]), answer
		if a != nil {
			a.raised = append(a.raised, c.number)
		}
	case strings.HasPrefix(what, "Extends a mutex"):
		c.op, c.number, c.restored = replay.Extend, number(args[2]), answer < 0
	default:
		return c, false
	}
	return c, a != nil
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// history returns the steps in the order of time.
func (x *extraction) history(attempts int) replay.History {
	type turn struct {
		at time.Time
		do func()
	}
	var turns []turn
	for _, c := range x.commands {
		if began := c.event.Began; began.After(x.result.Start) && began != x.restarted[c.event.Master] {
			x.restarted[c.event.Master] = began
			turns = append(turns, turn{began, func() {
				x.add(replay.Step{Op: replay.Restart, Master: c.event.Master}, began)
			}})
		}
		turns = append(turns, turn{c.at, func() { x.execute(c) }})
	}
	for _, e := range x.result.Events {
		at := x.result.Start.Add(e.T)
		if e.Kind == history.Acquired && e.Name == x.name && e.T < x.result.Schedule.Storm {
			turns = append(turns, turn{at, func() {
				if a := x.acquired(e, at); a != nil {
					x.hold(a, int64(e.Fence), at)
				}
			}})
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return a.at.Compare(b.at) })
	x.steps = []replay.Step{{Op: replay.Begin, Note: fmt.Sprintf("seed %d, name %q", x.result.Schedule.Seed, x.name)}}
	for _, t := range turns {
		if t.do(); x.clients >= attempts {
			break
		}
	}
	return replay.History{Masters: x.result.Schedule.Masters, Steps: x.steps}
}

func (x *extraction) add(s replay.Step, at time.Time) {
	s.Note = at.Sub(x.result.Start).String()
	x.steps = append(x.steps, s)
}

// execute adds the step of a command, after the decisions of the client that must have come before it.
func (x *extraction) execute(c fencedCommand) {
	m := c.event.Master
	a := x.attempts[c.token]
	if a.client < 0 {
		a.client = x.clients
		x.clients++
		x.add(replay.Step{Op: replay.Ask, Client: a.client}, c.at)
	}
	s := replay.Step{Op: c.op, Client: a.client, Master: m, Number: c.number, Answer: c.answer}
	inWindow := c.event.Began.After(x.result.Start) && c.at.Sub(c.event.Began) < x.result.Schedule.Window()
	switch {
	case inWindow && c.op != replay.Extend:
		s = replay.Step{Op: replay.Uncounted, Master: m, Number: max(c.number, c.answer)}
	case c.op == replay.Raise:
		for a.written < len(a.raised) && a.raised[a.written] <= c.number {
			x.add(replay.Step{Op: replay.Write, Client: a.client, Number: a.raised[a.written]}, c.at)
			a.written++
		}
	case c.op == replay.Extend:
		x.hold(a, c.number, c.at)
	}
	x.add(s, c.at)
}

// hold adds that an attempt's lock is held. A frozen client learns of that after its first extension.
func (x *extraction) hold(a *attempt, fence int64, at time.Time) {
	if !a.held {
		a.held = true
		x.add(replay.Step{Op: replay.Hold, Client: a.client, Number: fence}, at)
	}
}

// acquired returns the attempt that an event of the history completes: the client's latest one that has its number, or
// else the latest one.
func (x *extraction) acquired(e history.Event, at time.Time) *attempt {
	host := hostOf(e)
	mine := slices.Collect(maps.Values(x.attempts))
	mine = slices.DeleteFunc(mine, func(a *attempt) bool { return a.host != host || a.client < 0 || a.asked.After(at) })
	slices.SortFunc(mine, func(a, b *attempt) int {
		return cmp.Or(a.rank(e.Fence)-b.rank(e.Fence), a.asked.Compare(b.asked))
	})
	if len(mine) == 0 {
		return nil
	}
	return mine[len(mine)-1]
}

// hostOf returns the name of the host of the client that wrote an event.
func hostOf(e history.Event) string {
	if e.Life == 0 {
		return e.Client
	}
	return fmt.Sprintf("%s.life%d", e.Client, e.Life+1)
}

// rank is 1 if a master gave the attempt the number, or the attempt wrote it back.
func (a *attempt) rank(fence uint64) int {
	if slices.Contains(a.granted, int64(fence)) || slices.Contains(a.raised, int64(fence)) {
		return 1
	}
	return 0
}
