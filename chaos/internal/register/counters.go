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

// Question is a request to the register.
type Question struct {
	// Name is the name of the counter.
	Name string
	// Mode is the kind of the lock and Fence its fencing token, 0 for none. The four fields after them identify the
	// acquisition.
	Mode             string
	Fence            uint64
	Client           string
	Life, Worker, Op int
	// From is the value from which a write was computed, and Value the new value.
	From, Value int64
}

// Counters are the counters of one register. A simulation uses them without a socket, others by net/rpc.
type Counters struct {
	kind string
	log  func(history.Event)

	mu     sync.Mutex
	byName map[string]*counter
}

// NewCounters returns the counters of a register of that kind, which record each answer with log.
func NewCounters(kind string, log func(history.Event)) *Counters {
	return &Counters{kind: kind, log: log, byName: map[string]*counter{}}
}

type counter struct {
	value int64
	fence uint64 // largest token seen
}

// Read sets value to the counter of q.Name.
func (r *Counters) Read(q Question, value *int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.of(q)
	c.fence = max(c.fence, q.Fence)
	q.Value, *value = c.value, c.value
	r.record(history.Read, q, "")
	return nil
}

// Write sets the counter of q.Name to q.Value, which was computed from q.From. If the register refuses that, it sets
// rejected to the reason.
func (r *Counters) Write(q Question, rejected *string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.of(q)
	if r.kind == history.Fenced && q.Fence < c.fence {
		*rejected = fmt.Sprintf("the fencing token %d is smaller than %d, which was seen", q.Fence, c.fence)
		r.record(history.Rejected, q, *rejected)
		return nil
	}
	c.value, c.fence = q.Value, max(c.fence, q.Fence)
	r.record(history.Written, q, "")
	return nil
}

func (r *Counters) of(q Question) *counter {
	c := r.byName[q.Name]
	if c == nil {
		c = &counter{}
		r.byName[q.Name] = c
	}
	return c
}

// record writes an answer to the history, before another question is answered.
func (r *Counters) record(kind history.Kind, q Question, err string) {
	r.log(history.Event{
		Kind: kind, Register: r.kind, Name: q.Name, Mode: q.Mode, Fence: q.Fence, Client: q.Client, Life: q.Life,
		Worker: q.Worker, Op: q.Op, From: q.From, Value: q.Value, Err: err,
	})
}
