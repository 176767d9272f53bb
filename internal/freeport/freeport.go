// Package freeport finds ports for servers that will come back to them.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports come from below every usual range of ephemeral ports (Linux starts at 32768). A port inside that range could be
// taken by an outgoing connection while its server is down, so that the server could not restart. Even a client that
// dials the stopped server could take it, by connecting to itself.
const (
	lowest  = 20000
	highest = 29999
)

// Get returns a loopback port without a listener. Another process may take it before the caller does.
func Get() (uint16, error) {
	const attempts = 100
	for range attempts {
		port := lowest + rand.IntN(highest-lowest+1)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return uint16(port), l.Close()
		}
	}
	return 0, fmt.Errorf("no free port found in %d-%d after %d attempts", lowest, highest, attempts)
}
