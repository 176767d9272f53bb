package wire_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/simnet"
)

// holes dials connections of which each can be made to die silently.
type holes struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu  sync.Mutex
	all []*hole
}

func (h *holes) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := h.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	o := &hole{Conn: c}
	o.cond = sync.NewCond(&o.mu)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, o)
	return o, nil
}

// first is the first connection.
func (h *holes) first() *hole {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[0]
}

// last is the latest connection that is open, or the first one.
func (h *holes) last() *hole {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := len(h.all) - 1
	for last > 0 && h.all[last].isClosed() {
		last--
	}
	return h.all[last]
}

// hole is a connection whose bytes may be lost or arrive late.
type hole struct {
	net.Conn

	mu        sync.Mutex
	cond      *sync.Cond
	swallows  bool
	late      time.Duration
	kept      []byte
	closed    bool
	delivered chan struct{}
}

// swallow discards everything that is sent from now on, in both directions.
func (h *hole) swallow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.swallows = true
}

// hold delays everything that is written from now on until that long after the connection was closed, as a buffer of
// the master may.
func (h *hole) hold(late time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.swallows, h.late = true, late
	h.delivered = make(chan struct{})
}

func (h *hole) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// Readable reports whether a check of the socket finds data.
func (h *hole) Readable() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.Conn.(interface{ Readable() bool })
	return ok && !h.swallows && c.Readable()
}

func (h *hole) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.swallows && !h.closed {
		h.kept = append(h.kept, p...)
		return len(p), nil
	}
	return h.Conn.Write(p)
}

func (h *hole) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.swallows && !h.closed {
		h.cond.Wait()
	}
	if h.closed {
		return 0, net.ErrClosed
	}
	return n, err
}

func (h *hole) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return net.ErrClosed
	}
	h.closed = true
	h.cond.Broadcast()
	if h.late == 0 {
		return h.Conn.Close()
	}
	_ = h.SetReadDeadline(time.Now()) // ends Read
	go func() {
		time.Sleep(h.late)
		_, _ = h.Conn.Write(h.kept)
		_ = h.Conn.Close()
		close(h.delivered)
	}()
	return nil
}

// scripted is a server that answers INFO, and then every command as the test says.
type scripted struct {
	// answer returns the raw reply to a command, and whether the connection ends after it.
	answer func(args []string) (reply string, hangUp bool)
	// hello, if set, replaces the whole conversation.
	hello string
	dials atomic.Int64
}

func (s *scripted) dial(context.Context, string, string) (net.Conn, error) {
	s.dials.Add(1)
	client, server := net.Pipe()
	go s.serve(server)
	return client, nil
}

// listen serves l until it is closed, and closes the channel when no connection is left.
func (s *scripted) listen(l net.Listener) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		var all sync.WaitGroup
		defer all.Wait()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.dials.Add(1)
			all.Go(func() { s.serve(c) })
		}
	}()
	return over
}

func (s *scripted) serve(c net.Conn) {
	in := bufio.NewReader(c)
	out := &writer{c: c, wake: make(chan struct{}, 1)}
	go out.run()
	defer out.close()
	for {
		args, err := simnet.ReadCommand(in)
		if err != nil {
			return
		}
		if s.hello != "" {
			out.put(s.hello)
			continue
		}
		reply, over := "", false
		switch strings.ToLower(args[0]) {
		case "hello":
			reply = "-ERR unknown command 'hello'\r\n"
		case "info":
			info := "run_id:abc\r\nuptime_in_seconds:100000\r\n"
			reply = fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
		default:
			reply, over = s.answer(args)
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
