package simnet

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is a client's end of a connection to a master. The master's end is served by its goroutine.
type conn struct {
	host   *Host
	master *Master
	path   path
	up     *half // to the master
	down   *half // to the client
	proxy  bool  // a proxy is in between

	closed atomic.Bool
	abrupt atomic.Bool // Close discards what was not sent
	served atomic.Bool // the master is done with it
}

var _ net.Conn = (*conn)(nil)

func newConn(h *Host, m *Master, serial int64) *conn {
	path := h.path(m)
	running := func() bool { return !h.Frozen() }
	sending := func() bool { return !h.Frozen() || h.Dead() } // what the dead have left to their kernel is sent
	always := func() bool { return true }
	dice := func(way string, d Direction) func() trip {
		r := m.net.rng(h.name+way, m.index, serial)
		return func() trip { return path.draw(r, d) }
	}
	cut := func(d Direction) func() bool { return func() bool { return path.cut(d) } }
	return &conn{
		host: h, master: m, path: path, proxy: path[0].proxy.Load() || path[1].proxy.Load(),
		up:   newHalf(Buffer, dice("/up", ToMaster), cut(ToMaster), always, sending),
		down: newHalf(0, dice("/down", FromMaster), cut(FromMaster), running, always),
	}
}

func (c *conn) Read(p []byte) (int, error) {
	yield()
	n, err := c.down.read(p)
	return n, c.wrap("read", err)
}

func (c *conn) Write(p []byte) (int, error) {
	yield()
	if c.path.resets() {
		c.reset()
		return len(p), nil // the kernel took them
	}
	n, err := c.up.write(p)
	return n, c.wrap("write", err)
}

// Readable reports whether a Read would return at once.
func (c *conn) Readable() bool { return c.down.readable() }

// SetLinger works as in net.TCPConn: with 0, Close discards what the kernel has not sent.
func (c *conn) SetLinger(sec int) error {
	c.abrupt.Store(sec == 0)
	return nil
}

// Close ends the connection after everything that was written, see SetLinger.
func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return c.wrap("close", net.ErrClosed)
	}
	c.down.kill(net.ErrClosed, syscall.EPIPE)
	if c.abrupt.Load() && !c.proxy {
		c.up.discard()
	}
	c.up.end(io.EOF)
	c.master.net.drop(c)
	return nil
}

// reset breaks the connection for both sides at once, as a device in between can do. The master executes what has
// reached it.
func (c *conn) reset() {
	c.up.lose()
	c.up.end(io.EOF)
	c.up.sendNothing()
	c.down.kill(syscall.ECONNRESET, syscall.ECONNRESET)
	c.up.breakSender(syscall.EPIPE)
}

// abandon ends the connection as the master's kernel does: it reads nothing more, and the client gets err after what
// was sent to it before.
func (c *conn) abandon(err error) {
	c.up.kill(io.EOF, nil)
	c.up.sendNothing()
	c.down.end(err)
}

// kill ends both directions at once, for both sides.
func (c *conn) kill() {
	c.up.kill(io.EOF, syscall.EPIPE)
	c.down.kill(syscall.ECONNRESET, syscall.EPIPE)
}

func (c *conn) wrap(op string, err error) error {
	switch e := err.(type) { //nolint:errorlint // the halves return plain errors
	case nil:
		return nil
	case syscall.Errno:
		err = os.NewSyscallError(op, e)
	default:
		if err == io.EOF { //nolint:errorlint // io.Reader returns it unwrapped
			return err
		}
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

func (c *conn) LocalAddr() net.Addr  { return address(c.host.ip) }
func (c *conn) RemoteAddr() net.Addr { return address(c.master.addr) }

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.down.change(func() { c.down.readBy = t })
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.up.change(func() { c.up.sendBy = t })
	return nil
}

// An address is only a label.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
