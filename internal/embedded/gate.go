package embedded

import (
	"net"
	"sync"
	"time"
)

// A gate stops the traffic of a frozen master's connections. Its zero value is open.
type gate struct {
	mu            sync.Mutex
	reads, writes chan struct{} // nil: open; closed when it opens
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reads, g.writes = make(chan struct{}), make(chan struct{})
}

func (g *gate) openWrites() {
	g.mu.Lock()
	defer g.mu.Unlock()
	release(&g.writes)
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	release(&g.reads)
	release(&g.writes)
}

func release(side *chan struct{}) {
	if *side != nil {
		close(*side)
		*side = nil
	}
}

// pass waits until side is open. It reports false if gone closes first.
func (g *gate) pass(side *chan struct{}, gone <-chan struct{}) bool {
	for {
		g.mu.Lock()
		shut := *side
		g.mu.Unlock()
		if shut == nil {
			return true
		}
		select {
		case <-shut:
		case <-gone:
			return false
		}
	}
}

// conn is a connection whose traffic passes a gate.
type conn struct {
	net.Conn
	life *life
	late lateWriter
	gone chan struct{} // closed when this side closes the connection
	once sync.Once
}

func newConn(c net.Conn, l *life) *conn {
	gated := &conn{Conn: c, life: l, gone: make(chan struct{})}
	gated.late = lateWriter{pass: gated.pass, gone: gated.gone, spawn: l.sending.Go}
	return gated
}

// Read returns bytes only while the gate is open. It checks the gate after reading: a Read that was blocked when the
// gate closed would otherwise let one command through.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.life.gate.pass(&c.life.gate.reads, c.gone) {
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	return c.late.write(p, time.Duration(c.life.faults.slow.Load()))
}

// pass writes p once the gate is open.
func (c *conn) pass(p []byte) (int, error) {
	if !c.life.gate.pass(&c.life.gate.writes, c.gone) {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.gone)
		c.life.forget(c)
	})
	return c.Conn.Close()
}
