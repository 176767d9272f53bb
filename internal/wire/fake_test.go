package wire_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/node"
)

// inHole is inBubble with a first connection that can be made to die silently.
func inHole(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	var conns *firstHole
	over := func(dial node.Dialer) node.Dialer {
		conns = &firstHole{dial: dial}
		return conns.Dial
	}
	inBubbleOver(t, over, func(t *testing.T, r *rig) {
		r.first = conns.get
		f(t, r)
	})
}

// firstHole dials connections of which the first can be made to die silently.
type firstHole struct {
	dial node.Dialer

	mu   sync.Mutex
	made *hole
}

func (h *firstHole) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := h.dial(ctx, network, addr)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || h.made != nil {
		return c, err
	}
	h.made = &hole{Conn: c}
	h.made.cond = sync.NewCond(&h.made.mu)
	return h.made, nil
}

func (h *firstHole) get() *hole {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.made
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
