//go:build !linux

package proxy

// port holds nothing here: what lets a listener in beside it is Linux's. Somebody may take the address while a link is
// cut, and then healing it fails.
type port struct{}

func hold(string) (*port, error) { return &port{}, nil }

func (*port) lend(f func() error) error { return f() }

func (*port) release() error { return nil }
