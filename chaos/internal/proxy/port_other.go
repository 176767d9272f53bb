//go:build !linux

package proxy

// port holds nothing here: only Linux lets a second listener use a held port. Another process may take the address
// while a link is cut, and then healing it fails.
type port struct{}

func hold(string) (*port, error) { return &port{}, nil }

func (*port) lend(f func() error) error { return f() }

func (*port) release() error { return nil }
