package embedded

import (
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/redlock-go/redlock/internal/freeport"
	"github.com/redlock-go/redlock/internal/simnet"
)

// A door is the socket of a master from one start to the next stop. What arrives there goes on to the master by a
// connection of the simulated network, and back.
type door struct {
	listener net.Listener
	master   *simnet.Master
	all      sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

func listen(addr string) (net.Listener, error) {
	l, err := freeport.Listen(addr)
	if err != nil {
		return nil, fmt.Errorf("embedded: cannot listen: %w", err)
	}
	return l, nil
}

func open(l net.Listener, m *simnet.Master) *door {
	d := &door{listener: l, master: m, conns: make(map[net.Conn]struct{})}
	d.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.all.Go(func() { d.serve(c) })
		}
	})
	return d
}

func (d *door) serve(outside net.Conn) {
	defer outside.Close()
	inside, err := d.master.Connect()
	if err != nil {
		return
	}
	defer inside.Close()
	d.mu.Lock()
	d.conns[outside] = struct{}{}
	closed := d.closed
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.conns, outside)
		d.mu.Unlock()
	}()
	if closed {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(outside, inside)
		outside.Close()
	})
	_, _ = io.Copy(inside, outside)
	inside.Close() // after everything that was sent
	back.Wait()
}

// close closes the socket and all connections, and returns when every goroutine of the door has ended.
func (d *door) close() {
	d.listener.Close()
	d.mu.Lock()
	d.closed = true
	for c := range d.conns {
		c.Close()
	}
	d.mu.Unlock()
	d.all.Wait()
}
