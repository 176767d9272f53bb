package testnet

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redlock-go/redlock/internal/resp"
)

// Scripted is a server that answers HELLO and INFO, and then every command as the test says.
type Scripted struct {
	// Answer returns the raw reply to a command, and whether the connection ends after it.
	Answer func(args []string) (reply string, hangUp bool)
	// Hello, if set, replaces the whole conversation.
	Hello string
	// Dials is the number of connections.
	Dials atomic.Int64
	// RunID is what INFO reports: by default abc.
	RunID string
}

// Dial returns a new connection.
func (s *Scripted) Dial(context.Context, string, string) (net.Conn, error) {
	s.Dials.Add(1)
	client, server := net.Pipe()
	go s.Serve(server)
	return client, nil
}

// Serve answers until the connection ends.
func (s *Scripted) Serve(c net.Conn) {
	in := bufio.NewReader(c)
	out := &writer{c: c, wake: make(chan struct{}, 1)}
	go out.run()
	defer out.close()
	for {
		args, err := resp.ReadCommand(in)
		if err != nil {
			return
		}
		if s.Hello != "" {
			out.put(s.Hello)
			continue
		}
		reply, over := "", false
		switch strings.ToLower(args[0]) {
		case "hello":
			reply = "-ERR unknown command 'hello'\r\n"
		case "info":
			info := "run_id:" + cmp.Or(s.RunID, "abc") + "\r\nuptime_in_seconds:100000\r\n"
			reply = fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
		default:
			reply, over = s.Answer(args)
		}
		out.put(reply)
		if over {
			return
		}
	}
}

// writer writes in its own goroutine: a net.Pipe has no buffer, and a client that writes a batch does not read.
type writer struct {
	c    net.Conn
	wake chan struct{}

	mu     sync.Mutex
	kept   []byte
	closed bool
}

func (w *writer) put(s string) {
	w.mu.Lock()
	w.kept = append(w.kept, s...)
	w.mu.Unlock()
	w.nudge()
}

func (w *writer) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// close ends the connection after the data that was put.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.nudge()
}

func (w *writer) run() {
	defer w.c.Close()
	for range w.wake {
		w.mu.Lock()
		p, closed := w.kept, w.closed
		w.kept = nil
		w.mu.Unlock()
		if len(p) > 0 {
			if _, err := w.c.Write(p); err != nil {
				return
			}
		}
		if closed {
			return
		}
	}
}
