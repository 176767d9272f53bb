package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// A port is a socket that is bound to an address and does not listen. While no other socket has the address,
// connections to it are refused, and no other process can take it.
type port struct{ fd int }

// hold binds an IPv4 address.
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

// lend lets sockets with SO_REUSEADDR, such as Go's listeners, bind the address while f runs. A listener keeps the
// address when f has returned.
func (p *port) lend(f func() error) error {
	reuse := func(on int) error {
		return syscall.SetsockoptInt(p.fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, on)
	}
	if err := reuse(1); err != nil {
		return err
	}
	return errors.Join(f(), reuse(0))
}

// release frees the address.
func (p *port) release() error { return syscall.Close(p.fd) }
