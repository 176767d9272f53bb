//go:build !wasip1

package register

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"sync"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Register is a running register. The guest of exact runs has only its counters: net/rpc would add 26 packages to it.
type Register struct {
	*Counters
	history  *history.Writer
	listener net.Listener

	serving sync.WaitGroup
	open    context.Context // ends when the connections are to be closed
	hangUp  context.CancelFunc
}

// Start starts a register on loopback, of the kind [history.Trusting] or [history.Fenced]. It writes its history to
// file.
func Start(kind, file string) (*Register, error) {
	w, err := history.Create(file, history.NewClock())
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	r := &Register{Counters: NewCounters(kind, w.Write), history: w, listener: l}
	r.open, r.hangUp = context.WithCancel(context.Background())
	r.serving.Go(r.serve)
	return r, nil
}

// Addr returns the address for [Dial].
func (r *Register) Addr() string { return r.listener.Addr().String() }

// Close stops the register, and returns when all its goroutines have ended.
func (r *Register) Close() error {
	err := r.listener.Close()
	r.hangUp()
	r.serving.Wait()
	return errors.Join(err, r.history.Close())
}

// serve answers the questions of all connections until the register is closed.
func (r *Register) serve() {
	server := rpc.NewServer()
	if err := server.RegisterName(service, r.Counters); err != nil {
		panic("register: " + err.Error()) // its methods are wrong
	}
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return // the register is closed
		}
		r.serving.Go(func() {
			defer context.AfterFunc(r.open, func() { c.Close() })()
			server.ServeConn(c)
		})
	}
}

// service is the name of the methods of [Counters], which clients call.
const service = "Register"

// Client is a client of a register. It is safe for concurrent use.
//
// Client sets no deadline. The register is part of the harness and always answers. With a deadline, a process that was
// frozen in the middle of a question would mistake its own pause for a failure of the register, and ask twice.
type Client struct{ *rpc.Client }

// Dial connects to the register at addr.
func Dial(addr string) (*Client, error) {
	c, err := rpc.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	return &Client{c}, nil
}

// Read calls [Counters.Read].
func (c *Client) Read(e history.Event, value *int64) error { return c.Call(service+".Read", e, value) }

// Write calls [Counters.Write].
func (c *Client) Write(e history.Event, rejected *string) error {
	return c.Call(service+".Write", e, rejected)
}
