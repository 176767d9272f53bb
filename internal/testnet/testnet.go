// Package testnet is servers on this machine for tests.
package testnet

import (
	"io"
	"net"
	"sync"
)

// A TB is what this package needs of a testing.TB.
type TB interface {
	Helper()
	Cleanup(f func())
	Fatal(args ...any)
}

// Serve is ServeOn with a port of its own, and returns the address.
func Serve(t TB, serve func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ServeOn(t, l, serve)
	return l.Addr().String()
}

// ServeOn calls serve for each connection that l accepts. At the end of the test it closes l and the connections, and
// waits for the calls.
func ServeOn(t TB, l net.Listener, serve func(net.Conn)) {
	t.Helper()
	var serving sync.WaitGroup
	var conns []net.Conn
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
			serving.Go(func() { serve(c) })
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-over
		for _, c := range conns {
			_ = c.Close()
		}
		serving.Wait()
	})
}

// Forward forwards a connection to a server until one of them ends it.
func Forward(client net.Conn, addr string) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	var ended sync.WaitGroup
	defer ended.Wait()
	defer server.Close()
	ended.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	_, _ = io.Copy(server, client)
}
