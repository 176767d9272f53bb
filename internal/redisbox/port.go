package redisbox

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Published ports come from below every usual range of ephemeral ports (Linux starts at 32768). From inside of it,
// somebody's outgoing connection could sit on the port while its master is dead, and keep it from coming back; even
// a client's dial to the dead master could, by meeting itself.
const (
	lowestPort  = 20000
	highestPort = 29999
)

func freePort() (uint16, error) {
	const attempts = 100
	for range attempts {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return uint16(port), l.Close()
		}
	}
	return 0, fmt.Errorf("no free port found in %d-%d after %d attempts", lowestPort, highestPort, attempts)
}
