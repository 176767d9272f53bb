// Package freeport reserves loopback ports for servers that stop and come back.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports come from below the usual ranges of ephemeral ports (Linux starts at 32768). An ephemeral port may be taken by
// an outgoing connection while its server is stopped, even by a client that dials the server and so connects to itself.
const (
	lowest  = 20000
	highest = 29999
)

// A Port is a TCP port of 127.0.0.1. No other process that uses this package gets it before Release.
type Port struct {
	number int
	lock   net.PacketConn
}

// Reserve returns a port without a listener.
//
// Its lock is a socket of the UDP port with the same number. A lock of the TCP port itself would have to be given up
// whenever the server starts, and the port could be taken just then.
func Reserve() (*Port, error) {
	const attempts = 100
	var err error
	for range attempts {
		port := lowest + rand.IntN(highest-lowest+1)
		var p *Port
		if p, err = reserve(port); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no free port found in %d-%d after %d attempts: %w", lowest, highest, attempts, err)
}

func reserve(number int) (*Port, error) {
	p := &Port{number: number}
	var err error
	if p.lock, err = net.ListenPacket("udp", p.Addr()); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", p.Addr())
	if err != nil {
		p.Release()
		return nil, err
	}
	_ = l.Close() // it has accepted nothing
	return p, nil
}

// Number returns the number of the port.
func (p *Port) Number() int { return p.number }

// Addr returns host:port.
func (p *Port) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.number)) }

// Release ends the reservation. A nil Port, or one that was released, has none.
func (p *Port) Release() {
	if p != nil {
		_ = p.lock.Close() // it has sent nothing
	}
}
