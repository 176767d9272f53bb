// Package memnet gives addresses to servers that live in this process and listen on no socket, so that a program that
// is given URLs can reach them. Package redlocktest uses it for masters in virtual time; package node's default dialer
// asks it first.
//
// The addresses are in 192.0.2.0/24, which RFC 5737 reserves for documentation: no real master has one.
package memnet

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
)

// A Dialer opens a connection to a server, as (*net.Dialer).DialContext does.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

const (
	hosts     = 254 // 192.0.2.1 to 192.0.2.254
	firstPort = 6379
)

var registry struct {
	mu     sync.Mutex
	taken  int
	dialer map[string]Dialer // by address; an entry stays when its server has ended
}

// Reserve returns n addresses of the form host:port. No other call in this process returns any of them.
func Reserve(n int) []string {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	addrs := make([]string, n)
	for i := range addrs {
		addrs[i] = fmt.Sprintf("192.0.2.%d:%d", registry.taken%hosts+1, firstPort+registry.taken/hosts)
		registry.taken++
	}
	return addrs
}

// Serve connects addrs, which come from [Reserve], through d until stop is called. From then on their connections are
// refused.
func Serve(addrs []string, d Dialer) (stop func()) {
	set := func(d Dialer) {
		registry.mu.Lock()
		defer registry.mu.Unlock()
		if registry.dialer == nil {
			registry.dialer = make(map[string]Dialer)
		}
		for _, addr := range addrs {
			registry.dialer[addr] = d
		}
	}
	set(d)
	return func() { set(refuse) }
}

// Find returns how to connect to addr, or nil if addr is not one of this package's.
func Find(addr string) Dialer {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return registry.dialer[addr]
}

func refuse(_ context.Context, network, addr string) (net.Conn, error) {
	err := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	return nil, &net.OpError{Op: "dial", Net: network, Addr: address(addr), Err: err}
}

// address is a net.Addr that is only a name.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
