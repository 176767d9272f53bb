package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// port is a socket that is bound to an address and does not listen. While it alone has the address, connections are
// refused there, as they are where nobody is, and yet nobody else can have it.
type port struct{ fd int }

// hold takes an IPv4 address.
func hold(addr string) (*port, error) {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("hold %s: %w", addr, err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}); err != nil {
		return nil, fmt.Errorf("hold %s: %w", addr, errors.Join(err, syscall.Close(fd)))
	}
	return &port{fd}, nil
}

// lend lets others who say SO_REUSEADDR, as Go's listeners do, bind the address beside it while f runs. A listener stays
// when f has returned.
func (p *port) lend(f func() error) error {
	reuse := func(on int) error {
		return syscall.SetsockoptInt(p.fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, on)
	}
	if err := reuse(1); err != nil {
		return err
	}
	return errors.Join(f(), reuse(0))
}

// release gives the address back.
func (p *port) release() error { return syscall.Close(p.fd) }
