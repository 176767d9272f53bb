package simulation

import "sync"

// Register is a kind of register that a group's locks protect. It has a counter for each name, which holders read and
// then write back incremented by one.
type Register string

// The registers.
const (
	// Trusting accepts every write. A holder that has lost its lock can make it lose an update; the simulation only
	// counts that.
	Trusting Register = "trusting"
	// Checking refuses a write with a fencing token smaller than the largest that it has seen.
	Checking Register = "checking"
)

// registers are the registers of a run. Reading and writing them takes no time.
type registers struct {
	mu   sync.Mutex
	all  map[string]*counter
	lost int // updates lost by Trusting registers
}

type counter struct {
	value int
	fence uint64
}

// of returns the group's counter for a name. The caller holds mu.
func (r *registers) of(g Group, name string) *counter {
	if r.all == nil {
		r.all = make(map[string]*counter)
	}
	key := string(g.Register) + "/" + name
	if r.all[key] == nil {
		r.all[key] = &counter{}
	}
	return r.all[key]
}

// read returns the counter's value, and records the fencing token of the reader.
func (w *worker) read(g Group, h *holding) int {
	if g.Register == "" {
		return 0
	}
	r := &w.registers
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.of(g, h.want.Names[0])
	c.fence = max(c.fence, h.lock.Fence())
	return c.value
}

// put increments the counter from the value seen. It reports a problem if a Checking register thereby loses an update.
func (w *worker) put(g Group, h *holding, seen int) {
	if g.Register == "" {
		return
	}
	r := &w.registers
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.of(g, h.want.Names[0])
	switch fence := h.lock.Fence(); {
	case g.Register == Checking && fence < c.fence: // a stale holder, refused
		return
	case c.value == seen:
	case g.Register == Checking:
		w.problem(
			ByRegister,
			w.who,
			"wrote %d over %d in the register of %q that checks tokens, with token %d: an update is lost",
			seen+1,
			c.value,
			h.want.Names[0],
			fence,
		)
	default:
		r.lost++
	}
	c.value, c.fence = seen+1, max(c.fence, h.lock.Fence())
}
