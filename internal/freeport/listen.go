package freeport

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Listen listens on a TCP address. It waits up to a second until the address is free: until it executes its program, a
// forked process has copies of listeners that are closed here, and they keep their ports.
func Listen(addr string) (net.Listener, error) {
	const patience, pause = time.Second, time.Millisecond
	deadline := time.Now().Add(patience)
	for {
		l, err := net.Listen("tcp", addr)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return l, err
		}
		time.Sleep(pause)
	}
}
