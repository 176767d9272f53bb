// Package register is the resource that the locks of a run are to protect: one counter per name, behind a TCP socket.
// Whoever holds the lock reads the counter, and writes one more at the end. If two were in at once, a write is lost,
// and the history shows it: a [history.Written] whose From is not the value written before it.
//
// There are two versions. [history.Trusting] takes every write. [history.Fenced] refuses a write whose fencing
// token is smaller than the largest that anybody has presented for the name, in a read or in a write. Reads count,
// since one who has read will write what it made of that: a stale write between the two must not come through.
//
// # Protocol
//
// One JSON object per line, and one line of answer to each, in order. A question is a [Question]; the answer is an
// [Answer].
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

// Question is what a client asks.
type Question struct {
	// Do is read or write.
	Do string `json:"do"`
	// Name is which counter.
	Name string `json:"name"`
	// Mode, Fence and the four below say by what right: what kind of lock, its fencing token (0 for none), and which
	// acquisition it belongs to.
	Mode   string `json:"mode,omitempty"`
	Fence  uint64 `json:"fence,omitempty"`
	Client string `json:"client"`
	Life   int    `json:"life,omitempty"`
	Worker int    `json:"worker,omitempty"`
	Op     int    `json:"op,omitempty"`
	// From is the value that a write was made of, Value the new one.
	From  int64 `json:"from,omitempty"`
	Value int64 `json:"value,omitempty"`
}

const (
	read  = "read"
	write = "write"
)

// Answer is what the register says.
type Answer struct {
	// Value is what the counter is now.
	Value int64 `json:"value"`
	// Rejected says why a write was refused.
	Rejected string `json:"rejected,omitempty"`
	// Wrong says why the question was none.
	Wrong string `json:"wrong,omitempty"`
}

// Register is a running one.
type Register struct {
	kind     string
	history  *history.Writer
	listener net.Listener

	serving  sync.WaitGroup
	mu       sync.Mutex
	counters map[string]*counter
	conns    map[net.Conn]bool // nil when closed
}

type counter struct {
	value int64
	fence uint64 // the largest seen
}

// Start runs a register of the kind [history.Trusting] or [history.Fenced] on loopback, which writes its history to
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
	r := &Register{kind: kind, history: w, listener: l, counters: map[string]*counter{}, conns: map[net.Conn]bool{}}
	r.serving.Go(r.accept)
	return r, nil
}

// Addr is where it listens, for [Dial].
func (r *Register) Addr() string { return r.listener.Addr().String() }

// Close ends it, and returns when nothing of it runs any more.
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
			return // closed
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

// serve answers one connection until it ends.
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
			return // it was killed; what it wrote is written
		}
	}
}

// answer does what it is asked, and writes it down before anything else can be done.
func (r *Register) answer(q Question) Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counters[q.Name]
	if c == nil {
		c = &counter{}
		r.counters[q.Name] = c
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
	r.history.Write(e)
	return a
}
