package simulation

import "sync"

// Register says what a group's locks protect: a counter for each name, which holders read and write back one higher.
type Register string

// The registers.
const (
	// Trusting takes what it is given: a holder whose lock was over hurts it, and that is only counted.
	Trusting Register = "trusting"
	// Checking refuses a fencing token that is smaller than one that it has seen.
	Checking Register = "checking"
)

// registers are the counters of a run. Reading and writing takes no time.
type registers struct {
	mu   sync.Mutex
	all  map[string]*counter
	lost int // updates that a trusting one lost
}

type counter struct {
	value int
	fence uint64
}

// of returns a group's register of a name. The caller holds mu.
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

// read returns the value that is protected.
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

// put writes the next value, of one that was read.
func (w *worker) put(g Group, h *holding, seen int) {
	if g.Register == "" {
		return
	}
	r := &w.registers
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.of(g, h.want.Names[0])
	switch fence := h.lock.Fence(); {
	case g.Register == Checking && fence < c.fence: // stale, and refused
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
