package wire_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/node"
)

// inHoles is inBubble with connections of which each can be made to die silently.
func inHoles(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	var conns *holes
	over := func(dial node.Dialer) node.Dialer {
		conns = &holes{dial: dial}
		return conns.Dial
	}
	inBubbleOver(t, over, func(t *testing.T, r *rig) {
		r.conns = conns
		f(t, r)
	})
}

// holes dials connections of which each can be made to die silently.
type holes struct {
	dial node.Dialer

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
