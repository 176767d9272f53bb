package freeport

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Listen listens on a TCP address. It waits up to a second until the address is free: see [WhenFree].
func Listen(addr string) (l net.Listener, err error) {
	err = WhenFree(func() error {
		l, err = net.Listen("tcp", addr)
		return err
	})
	return l, err
}

// WhenFree calls listen again, for up to a second, as long as the address of listen is in use. Until it executes its
// program, a forked process has copies of listeners that are closed here, and they keep their ports.
func WhenFree(listen func() error) error {
	const patience, pause = time.Second, time.Millisecond
	deadline := time.Now().Add(patience)
	for {
		err := listen()
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}
