// Package register provides the resource that the locks of a run protect: one counter per name, behind a TCP socket. A
// holder reads the counter, and writes it back incremented by one at the end. If two clients hold the lock at the same
// time, an update is lost, and the history shows it: a [history.Written] whose From is not the value written before it.
//
// There are two kinds. [history.Trusting] accepts every write. [history.Fenced] refuses a write whose fencing token is
// smaller than the largest token presented for the name in any read or write. Reads count, because a client that has
// read will write a value computed from what it read, which would overwrite a stale write in between.
//
// # Protocol
//
// Each line is one JSON object. The register answers each question with one line, in order. A question is a [Question],
// and the answer is an [Answer].
//
//	{"do":"read","name":"a","fence":33,"client":"c0","worker":1,"op":7}         {"value":5}
//	{"do":"write","name":"a","fence":33,"from":5,"value":6,"client":"c0",...}   {"value":6}
//	{"do":"write","name":"a","fence":32,"from":5,"value":6,"client":"c1",...}   {"value":6,"rejected":"..."}
package register

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Question is a request to the register.
type Question struct {
	// Do is "read" or "write".
	Do string `json:"do"`
	// Name is the name of the counter.
	Name string `json:"name"`
	// Mode is the kind of the lock and Fence its fencing token, 0 for none. The four fields after them identify the
	// acquisition.
	Mode   string `json:"mode,omitempty"`
	Fence  uint64 `json:"fence,omitempty"`
	Client string `json:"client"`
	Life   int    `json:"life,omitempty"`
	Worker int    `json:"worker,omitempty"`
	Op     int    `json:"op,omitempty"`
	// From is the value from which a write was computed, and Value the new value.
	From  int64 `json:"from,omitempty"`
	Value int64 `json:"value,omitempty"`
}

const (
	read  = "read"
	write = "write"
)

// Answer is the register's reply.
type Answer struct {
	// Value is the current value of the counter.
	Value int64 `json:"value"`
	// Rejected says why a write was refused, "" if it was not.
	Rejected string `json:"rejected,omitempty"`
	// Wrong says why the question was invalid, "" if it was not.
	Wrong string `json:"wrong,omitempty"`
}

// Register is a running register.
type Register struct {
	*Counters
	history  *history.Writer
	listener net.Listener

	serving sync.WaitGroup
	mu      sync.Mutex
	conns   map[net.Conn]bool // nil after Close
}

// Counters are the counters of one register. A simulation uses them without a socket.
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

// Start starts a register on loopback, of the kind [history.Trusting] or [history.Fenced]. It writes its history to
// file.
func Start(kind, file string) (*Register, error) {
	if kind != history.Trusting && kind != history.Fenced {
		return nil, fmt.Errorf("no register is called %q: there are %q and %q", kind, history.Trusting, history.Fenced)
	}
	w, err := history.Create(file, history.NewClock())
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	r := &Register{Counters: NewCounters(kind, w.Write), history: w, listener: l, conns: map[net.Conn]bool{}}
	r.serving.Go(r.accept)
	return r, nil
}

// Addr returns the address for [Dial].
func (r *Register) Addr() string { return r.listener.Addr().String() }

// Close stops the register, and returns when all its goroutines have ended.
func (r *Register) Close() error {
	err := r.listener.Close()
	r.mu.Lock()
	for c := range r.conns {
		c.Close()
	}
	r.conns = nil
	r.mu.Unlock()
	r.serving.Wait()
	return errors.Join(err, r.history.Close())
}

func (r *Register) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return // the register is closed
		}
		r.mu.Lock()
		if r.conns == nil {
			c.Close()
		} else {
			r.conns[c] = true
			r.serving.Go(func() { r.serve(c) })
		}
		r.mu.Unlock()
	}
}

// serve answers the questions of one connection until it ends.
func (r *Register) serve(c net.Conn) {
	defer func() {
		c.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, c)
	}()
	lines, answers := bufio.NewScanner(c), json.NewEncoder(c)
	for lines.Scan() {
		var q Question
		a := Answer{}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			a.Wrong = err.Error()
		} else {
			a = r.answer(q)
		}
		if answers.Encode(a) != nil {
			return // the client was killed; its earlier writes are in the history
		}
	}
}

// Read returns the counter of q.Name.
func (r *Counters) Read(q Question) (int64, error) {
	q.Do = read
	return r.answer(q).Value, nil
}

// Write sets the counter of q.Name to q.Value, which was computed from q.From. It returns ErrRejected if the register
// refuses the write.
func (r *Counters) Write(q Question) error {
	q.Do = write
	if a := r.answer(q); a.Rejected != "" {
		return fmt.Errorf("%w: %s", ErrRejected, a.Rejected)
	}
	return nil
}

// answer executes a question and records it, before it allows another one.
func (r *Counters) answer(q Question) Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.byName[q.Name]
	if c == nil {
		c = &counter{}
		r.byName[q.Name] = c
	}
	e := history.Event{
		Register: r.kind, Name: q.Name, Mode: q.Mode, Fence: q.Fence,
		Client: q.Client, Life: q.Life, Worker: q.Worker, Op: q.Op, From: q.From, Value: q.Value,
	}
	a := Answer{}
	switch stale := r.kind == history.Fenced && q.Fence < c.fence; {
	case q.Do == read:
		e.Kind, e.Value = history.Read, c.value
	case q.Do == write && stale:
		e.Kind = history.Rejected
		a.Rejected = fmt.Sprintf("the fencing token %d is smaller than %d, which was seen", q.Fence, c.fence)
		e.Err = a.Rejected
	case q.Do == write:
		e.Kind = history.Written
		c.value = q.Value
	default:
		a.Wrong = fmt.Sprintf("there is no %q: there are %q and %q", q.Do, read, write)
		return a
	}
	c.fence = max(c.fence, q.Fence)
	a.Value = c.value
	r.log(e)
	return a
}
