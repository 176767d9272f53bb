// Package testnet is servers on this machine, for tests and for masters in this process.
package testnet

import (
	"context"
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

// ServeOn is [Accept] until the end of the test.
func ServeOn(t TB, l net.Listener, serve func(net.Conn)) {
	t.Helper()
	t.Cleanup(Accept(l, serve))
}

// Accept calls serve for each connection that l accepts, and closes the connection when serve returns. stop closes l
// and all connections, and waits for the calls.
func Accept(l net.Listener, serve func(net.Conn)) (stop func()) {
	open, end := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				defer context.AfterFunc(open, func() { _ = c.Close() })()
				serve(c)
			})
		}
	})
	return func() {
		end()
		_ = l.Close()
		all.Wait()
	}
}

// ForwardTo forwards a connection to the server at an address until one of them ends it.
func ForwardTo(addr string, client net.Conn) {
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	Forward(client, server)
}

// Forward forwards the bytes of two connections to each other until one of them ends. The server gets everything that
// the client has sent before it ended.
func Forward(client, server net.Conn) {
	var back sync.WaitGroup
	defer back.Wait()
	defer server.Close()
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	_, _ = io.Copy(server, client)
}
