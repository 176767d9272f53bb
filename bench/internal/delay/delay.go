// Package delay is a TCP proxy that makes a near server far away: it hands on every byte, in order, later. Nothing is
// changed, dropped or merged, so that what a client sees is what it would see over a long link.
package delay

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Link is what lies between client and server.
type Link struct {
	RTT    time.Duration // each direction takes half
	Jitter float64       // of each direction's delay: it is longer by up to this share
	// Loss is the share of segments that are lost on the way. TCP sends them again, so that they, and all after them,
	// come later by Resend.
	Loss   float64
	Resend time.Duration
}

// way is how long a segment takes in one direction.
func (l *Link) way() time.Duration {
	d := l.RTT / 2
	if l.Jitter > 0 {
		d += time.Duration(rand.Float64() * l.Jitter * float64(d))
	}
	if l.Loss > 0 && rand.Float64() < l.Loss {
		d += l.Resend
	}
	return d
}

const (
	segment = 64 << 10
	inWay   = 1024 // segments on the way in one direction before the sender has to wait
)

// A Proxy stands before one server. Its link may be changed at any time.
type Proxy struct {
	target   string
	listener net.Listener
	link     atomic.Pointer[Link]
	tap      func(toServer bool, b []byte)

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	all    sync.WaitGroup
}

// New starts a proxy before target, a host:port, on a loopback port. tap, unless nil, is shown all that passes, and
// must be safe for concurrent use. The caller must Close the proxy.
func New(target string, link Link, tap func(toServer bool, b []byte)) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("delay: %w", err)
	}
	p := &Proxy{target: target, listener: l, tap: tap, conns: map[net.Conn]struct{}{}}
	p.Set(link)
	p.all.Go(p.accept)
	return p, nil
}

// Addr is the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes the link for all that is sent from now on. Nothing overtakes what is on its way.
func (p *Proxy) Set(l Link) { p.link.Store(&l) }

// Close ends the proxy and every connection through it, and returns when nothing of it runs any more.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	err := p.listener.Close()
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return // the client sees its connection closed
	}
	defer server.Close()
	if !p.keep(client, server) {
		return
	}
	defer p.forget(client, server)
	var both sync.WaitGroup
	both.Go(func() { p.carry(server, client, true) })
	both.Go(func() { p.carry(client, server, false) })
	both.Wait()
}

func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
	return !p.closed
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// parcel is bytes on their way.
type parcel struct {
	bytes []byte
	due   time.Time
}

// carry hands on what comes from one side to the other. The end of the stream takes as long as what was sent before it.
func (p *Proxy) carry(to, from net.Conn, toServer bool) {
	way := make(chan parcel, inWay)
	var writer sync.WaitGroup
	writer.Go(func() { deliver(to, way) })
	buffer := make([]byte, segment)
	var last time.Time
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if p.tap != nil {
				p.tap(toServer, buffer[:n])
			}
			due := time.Now().Add(p.link.Load().way())
			if due.Before(last) {
				due = last
			}
			last = due
			way <- parcel{append([]byte(nil), buffer[:n]...), due}
		}
		if err != nil {
			close(way)
			writer.Wait()
			hangUp(to, err)
			return
		}
	}
}

// deliver hands parcels over when they are due, and keeps draining the link when the receiver is gone.
func deliver(to net.Conn, way <-chan parcel) {
	broken := false
	for next := range way {
		if broken {
			continue
		}
		time.Sleep(time.Until(next.due))
		_, err := to.Write(next.bytes)
		broken = err != nil
	}
}

// hangUp passes on how the stream ended: its end leaves the other direction open.
func hangUp(to net.Conn, err error) {
	if half, ok := to.(*net.TCPConn); ok && errors.Is(err, io.EOF) {
		_ = half.CloseWrite()
		return
	}
	to.Close()
}
