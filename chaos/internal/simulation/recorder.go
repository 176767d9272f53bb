package simulation

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/internal/simnet"
)

// Entry is one line of the timeline.
type Entry struct {
	At    time.Duration
	Where string
	Text  string

	command int // number of the command that the line shows, from 1, or 0; its text is made only when it is shown
}

// recorder records what happens in one run.
type recorder struct {
	start time.Time

	mu          sync.Mutex
	events      []history.Event
	entries     []Entry
	commands    []simnet.Event
	labels      labels
	found       []Found
	second      time.Duration // start of the current second
	asked       map[asker]int // acquires in that second
	maxAcquires int           // how many one asker may send in a second
	overloaded  chan struct{} // closed when an asker reaches maxAcquires
}

// asker is a pair of a client and a master.
type asker struct {
	host   string
	master int
}

// groupAcquires is how many acquires each group of a client's workers may send to one master in a second. Waiters pause
// for at least 10 ms between two attempts, unless a lock was released.
const groupAcquires = 1000

func (h *recorder) now() time.Duration { return time.Since(h.start) }

func (h *recorder) note(where, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, Entry{At: h.now(), Where: where, Text: fmt.Sprintf(format, args...)})
}

// problem records a finding of the run itself, not of a checker of the history.
func (h *recorder) problem(by string, where, format string, args ...any) {
	h.note(where, "PROBLEM: "+format, args...)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.found = append(h.found, foundAt(h.now(), where, by, fmt.Sprintf(format, args...)))
}

// log adds an event to the history. Its time is the present unless it has one.
func (h *recorder) log(e history.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.T = cmp.Or(e.T, h.now())
	h.events = append(h.events, e)
}

// phase begins a phase of the run.
func (r *run) phase(name string) { r.log(history.Event{Kind: history.Phase, Phase: name}) }

func (h *recorder) command(e simnet.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commands = append(h.commands, e)
	h.labels.learn(e)
	if !h.labels.acquires(e) {
		return
	}
	if now := h.now().Truncate(time.Second); now > h.second {
		h.second = now
		clear(h.asked)
	}
	who := asker{e.Host, e.Master}
	if h.asked[who]++; h.asked[who] == h.maxAcquires {
		text := fmt.Sprintf("asked %d times within a second", h.maxAcquires)
		h.found = append(h.found, foundAt(h.now(), fmt.Sprintf("%s at master %d", e.Host, e.Master), ByLoad, text))
		select {
		case <-h.overloaded:
		default:
			close(h.overloaded)
		}
	}
}
