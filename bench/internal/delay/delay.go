// Package delay is a TCP proxy that makes a near server far away: it hands on every byte, in order, later. Nothing is
// changed, dropped or merged, so that what a client sees is what it would see over a long link.
package delay

import (
	"context"
	"errors"
	"fmt"
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

	open  context.Context // until Close
	close context.CancelFunc
	all   sync.WaitGroup
}

// New starts a proxy before target, a host:port, on a loopback port. The caller must Close the proxy.
func New(target string, link Link) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("delay: %w", err)
	}
	p := &Proxy{target: target, listener: l}
	p.open, p.close = context.WithCancel(context.Background())
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
	p.close()
	err := p.listener.Close()
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
	server, err := (&net.Dialer{}).DialContext(p.open, "tcp", p.target)
	if err != nil {
		return // the client sees its connection closed
	}
	defer server.Close()
	defer context.AfterFunc(p.open, func() { client.Close(); server.Close() })()
	var both sync.WaitGroup
	both.Go(func() { p.carry(server, client) })
	both.Go(func() { p.carry(client, server) })
	both.Wait()
}

// parcel is bytes on their way.
type parcel struct {
	bytes []byte
	due   time.Time
}

// carry hands on what comes from one side to the other. The end of the stream takes as long as what was sent before it.
func (p *Proxy) carry(to, from net.Conn) {
	way := make(chan parcel, inWay)
	var writer sync.WaitGroup
	writer.Go(func() { deliver(to, way) })
	buffer := make([]byte, segment)
	var last time.Time
	for {
		n, err := from.Read(buffer)
		if n > 0 {
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
			to.Close()
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
