// Package register provides the resource that the locks of a run protect: one counter per name, behind a TCP socket. A
// holder reads the counter, and writes it back incremented by one at the end. If two clients hold the lock at the same
// time, an update is lost, and the history shows it: a [history.Written] whose From is not the value written before it.
//
// There are two kinds. [history.Trusting] accepts every write. [history.Fenced] refuses a write whose fencing token is
// smaller than the largest token presented for the name in any read or write. Reads count, because a client that has
// read will write a value computed from what it read, which would overwrite a stale write in between.
package register

import (
	"fmt"
	"sync"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Counters are the counters of one register. A simulation uses them without a socket, others by net/rpc.
type Counters struct {
	kind string
	log  func(history.Event)

	mu     sync.Mutex
	byName map[string]counter
}

// NewCounters returns the counters of a register of that kind, which record each answer with log.
func NewCounters(kind string, log func(history.Event)) *Counters {
	return &Counters{kind: kind, log: log, byName: map[string]counter{}}
}

type counter struct {
	value int64
	fence uint64 // largest token seen
}

// Read sets value to the counter of e.Name. The event identifies the acquisition, and has its fencing token.
func (r *Counters) Read(e history.Event, value *int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.byName[e.Name]
	r.byName[e.Name] = counter{c.value, max(c.fence, e.Fence)}
	*value = c.value
	e.Kind, e.Register, e.Value = history.Read, r.kind, c.value
	r.log(e)
	return nil
}

// Write sets the counter of e.Name to e.Value, which was computed from e.From. If the register refuses that, it sets
// rejected to the reason.
func (r *Counters) Write(e history.Event, rejected *string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.byName[e.Name]
	e.Kind, e.Register = history.Written, r.kind
	if r.kind == history.Fenced && e.Fence < c.fence {
		*rejected = fmt.Sprintf("the fencing token %d is smaller than %d, which was seen", e.Fence, c.fence)
		e.Kind, e.Err = history.Rejected, *rejected
	} else {
		r.byName[e.Name] = counter{e.Value, max(c.fence, e.Fence)}
	}
	r.log(e)
	return nil
}
