package simulation

import (
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/simnet"
)

// Entry is one line of the timeline.
type Entry struct {
	At    time.Duration
	Where string
	Text  string

	command int // number of the command that the line shows, from 1, or 0; its text is made only when it is shown
}

// history records what happens in one run.
type history struct {
	start time.Time

	mu       sync.Mutex
	holds    []Hold
	waits    []Wait
	entries  []Entry
	commands []simnet.Event
	labels   labels
	problems []Problem
	thaws    map[string]time.Duration // when each client last thawed
	second   time.Duration            // start of the current second
	asked    map[asker]int            // acquires in that second
	busy     int                      // limit for each asker
	hectic   chan struct{}            // closed when an asker reaches the limit
}

// asker is a pair of a client and a master.
type asker struct {
	host   string
	master int
}

func (a asker) String() string { return fmt.Sprintf("%s at master %d", a.host, a.master) }

// busy is the maximum number of acquires that one client may send to one master in a second, for each group of workers.
// Its waiters pause for at least 10 ms between two attempts, unless a lock was released.
const busy = 1000

func newHistory() *history {
	return &history{
		start:  time.Now(),
		thaws:  make(map[string]time.Duration),
		asked:  make(map[asker]int),
		hectic: make(chan struct{}),
		labels: make(labels),
		busy:   busy,
	}
}

func (h *history) now() time.Duration { return time.Since(h.start) }

func (h *history) note(where, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, Entry{At: h.now(), Where: where, Text: fmt.Sprintf(format, args...)})
}

// problem records a finding other than two holders.
func (h *history) problem(by Checker, where, format string, args ...any) {
	h.note(where, "PROBLEM: "+format, args...)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problems = append(
		h.problems,
		Problem{By: by, Entry: Entry{At: h.now(), Where: where, Text: fmt.Sprintf(format, args...)}},
	)
}

// thaw records that a client thaws.
func (h *history) thaw(client string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.thaws[client] = h.now()
}

// thawed returns when the client last thawed, or 0 if it never froze.
func (h *history) thawed(client string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.thaws[client]
}

func (h *history) hold(held Hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds = append(h.holds, held)
}

func (h *history) wait(w Wait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = append(h.waits, w)
}

func (h *history) command(e simnet.Event) {
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
	if h.asked[who]++; h.asked[who] == h.busy {
		h.problems = append(
			h.problems,
			Problem{
				By:    ByLoad,
				Entry: Entry{At: h.now(), Where: who.String(), Text: fmt.Sprintf("asked %d times within a second", h.busy)},
			},
		)
		select {
		case <-h.hectic:
		default:
			close(h.hectic)
		}
	}
}
