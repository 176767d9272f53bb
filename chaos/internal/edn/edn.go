// Package edn writes histories as Jepsen's checkers, Knossos and Elle, read them, so that others can judge a run. Each
// line of history.edn is the beginning or the end of an operation:
//
//	{:type :invoke, :process 7, :f :acquire, :key "m1", :value nil, :time 1204000000, :index 41, :mode :mutex}
//	{:type :ok, :process 7, :f :acquire, :key "m1", :value 1763874000123456, :time 1205300000, :index 43, :mode :mutex}
//	{:type :invoke, :process 7, :f :release, :key "m1", :value nil, :time 1290000000, :index 60, :mode :mutex}
//	{:type :ok, :process 7, :f :release, :key "m1", :value nil, :time 1291100000, :index 61, :mode :mutex}
//
// A :time is in nanoseconds, an :index counts from 0. Each acquisition of each name is a :process of its own.
//
// An acquire that is :ok has the fencing token as its :value, or nil. It is :fail if the client got no lock, or learned
// of it only after its end, and :info if the client died. The fields :mode, :owner and :slots say who may share.
//
// A release begins where the holder's belief ends: at Unlock, or at the last Until. It is :info if the unlock was not
// confirmed.
//
// The operations :read and :cas are those of registers. Their keys are fenced/NAME and trusting/NAME. Registers begin
// at 0, and their operations take no time. Judge each :key alone.
//
// The package derives what a holder believed from the events by itself, not from package check.
package edn

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// An Op is the beginning or the end of an operation.
type Op struct {
	Type    string // invoke, ok, fail or info
	Process int
	F       string // acquire or release of a lock, read or cas of a register
	// Key is the name of the lock. That of a register has the register's kind before it.
	Key   string
	Value []int64 // the fencing token, the value that was read, or the two values of a cas
	Time  time.Duration
	Index int
	// Mode, Owner and Slots are those of a lock: a name of package kinds, and what belongs to the kind.
	Mode, Owner string
	Slots       int
}

// String returns the op as an EDN map.
func (o Op) String() string {
	value := "nil"
	switch {
	case len(o.Value) == 1:
		value = strconv.FormatInt(o.Value[0], 10)
	case len(o.Value) == 2:
		value = fmt.Sprintf("[%d %d]", o.Value[0], o.Value[1])
	}
	text := fmt.Sprintf("{:type :%s, :process %d, :f :%s, :key %q, :value %s, :time %d, :index %d",
		o.Type, o.Process, o.F, o.Key, value, o.Time.Nanoseconds(), o.Index)
	if o.Mode != "" {
		text += ", :mode :" + o.Mode
	}
	if o.Owner != "" {
		text += fmt.Sprintf(", :owner %q", o.Owner)
	}
	if o.Slots > 0 {
		text += fmt.Sprintf(", :slots %d", o.Slots)
	}
	return text + "}"
}

// Save writes the ops of a history to a file, a line each.
func Save(path string, events []history.Event) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(f)
	for _, o := range Ops(events) {
		if _, err := fmt.Fprintln(buf, o); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(buf.Flush(), f.Close())
}

// Ops returns the operations of a history, which is in the order of time.
func Ops(events []history.Event) []Op {
	w := &writer{open: map[history.ID]*hold{}}
	for _, e := range events {
		w.read(e)
		w.last = max(w.last, e.T)
	}
	for _, h := range w.open {
		w.abandon(h)
	}
	slices.SortStableFunc(w.ops, func(a, b Op) int { return cmp.Compare(a.Time, b.Time) })
	for i := range w.ops {
		w.ops[i].Index = i
	}
	return w.ops
}

type writer struct {
	ops       []Op
	processes int
	open      map[history.ID]*hold
	last      time.Duration // the time of the last event
}

// A hold is an acquisition, and the lock that it returned.
type hold struct {
	event     history.Event // the last one that says what is held
	processes []int         // one for each name
	until     time.Duration // the deadline that the holder knows
	acquired  bool
	held      bool // the holder believes in its lock
	called    bool // the unlock was called
	releasing bool // a release was invoked and has not ended
}

func (w *writer) process() int {
	w.processes++
	return w.processes - 1
}

func (w *writer) read(e history.Event) {
	switch e.Kind {
	case history.Invoked:
		w.begin(e)
		return
	case history.Read:
		w.register(e, "read", "ok", e.Value)
		return
	case history.Written:
		w.register(e, "cas", "ok", e.From, e.Value)
		return
	case history.Rejected:
		w.register(e, "cas", "fail", e.From, e.Value)
		return
	}
	h := w.open[e.ID()]
	switch {
	case e.Kind == history.Acquired:
		if h == nil { // of traffic that writes no Invoked
			h = w.begin(e)
		}
		w.acquired(h, e)
	case h == nil:
	case e.Kind == history.Refused:
		w.lock(h, "acquire", "fail", e.T)
		delete(w.open, e.ID())
	case e.Kind == history.Released:
		if !h.called { // WellFormed finds that
			w.call(h, e.T)
		}
		if h.releasing {
			w.lock(h, "release", outcome(e), e.T)
		}
		delete(w.open, e.ID())
	case h.called: // what happens during the unlock changes no belief
	case e.Kind == history.Extended:
		w.expire(h, e.T)
		h.until = max(e.Until, e.T)
		w.resume(h, e.T)
	case e.Kind == history.ReleaseCalled:
		w.call(h, e.T)
	}
}

// call begins the unlock, and with it the release of what is still held.
func (w *writer) call(h *hold, at time.Duration) {
	w.expire(h, at)
	h.called = true
	if h.held {
		h.held, h.releasing = false, true
		w.lock(h, "release", "invoke", at)
	}
}

func outcome(e history.Event) string {
	if e.Err != "" {
		return "info"
	}
	return "ok"
}

// begin begins an acquisition.
func (w *writer) begin(e history.Event) *hold {
	h := &hold{event: e}
	for range e.Locked() {
		h.processes = append(h.processes, w.process())
	}
	w.open[e.ID()] = h
	w.lock(h, "acquire", "invoke", e.T)
	return h
}

// acquired ends an acquisition. A client that learns of its lock only after the deadline never believed in it.
func (w *writer) acquired(h *hold, e history.Event) {
	h.event, h.acquired, h.until = e, true, e.Until
	if h.held = h.until > e.T; h.held {
		w.lock(h, "acquire", "ok", e.T, h.fence()...)
	} else {
		w.lock(h, "acquire", "fail", e.T)
	}
}

func (h *hold) fence() []int64 {
	if h.event.Fence == 0 {
		return nil
	}
	return []int64{int64(h.event.Fence)}
}

// expire adds a release at the deadline if it has passed.
func (w *writer) expire(h *hold, now time.Duration) {
	if h.held && h.until <= now {
		w.release(h, h.until)
	}
}

// release adds a release in no time.
func (w *writer) release(h *hold, at time.Duration) {
	if h.held {
		h.held = false
		w.lock(h, "release", "invoke", at)
		w.lock(h, "release", "ok", at)
	}
}

// resume adds an acquisition in no time, if the deadline has not passed: the holder believes in its lock again, or in
// another mode.
func (w *writer) resume(h *hold, at time.Duration) {
	if !h.held && h.until > at {
		h.held = true
		w.lock(h, "acquire", "invoke", at)
		w.lock(h, "acquire", "ok", at, h.fence()...)
	}
}

// abandon ends what no event ended. A lock ends at its deadline, whatever became of its holder.
func (w *writer) abandon(h *hold) {
	switch {
	case h.releasing:
		w.lock(h, "release", "info", w.last)
	case !h.acquired:
		w.lock(h, "acquire", "info", w.last)
	default:
		w.release(h, h.until)
	}
}

// lock adds an op for each name of a lock.
func (w *writer) lock(h *hold, f, outcome string, at time.Duration, value ...int64) {
	e := h.event
	for i, name := range e.Locked() {
		w.ops = append(w.ops, Op{
			Type: outcome, Process: h.processes[i], F: f, Key: name, Value: value, Time: at,
			Mode: cmp.Or(e.Mode, kinds.Mutex), Owner: e.Owner, Slots: e.Slots,
		})
	}
}

// register adds an operation of a register, which takes no time there.
func (w *writer) register(e history.Event, f, outcome string, value ...int64) {
	o := Op{Type: "invoke", Process: w.process(), F: f, Key: e.Register + "/" + e.Name, Value: value, Time: e.T}
	if f == "read" {
		o.Value = nil
	}
	w.ops = append(w.ops, o)
	o.Type, o.Value = outcome, value
	w.ops = append(w.ops, o)
}
