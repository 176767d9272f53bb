package link

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
)

// fakeExaminer is a connection to an address.
type fakeExaminer struct {
	examiner
	addr net.Addr
}

func (f fakeExaminer) remote() net.Addr { return f.addr }

func TestTheAddressOfTheOtherEnd(t *testing.T) {
	t.Parallel()
	for want, addr := range map[string]net.Addr{
		"10.0.0.1": &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 6379}, "::1": &net.TCPAddr{IP: net.IPv6loopback, Port: 1},
	} {
		assert.Equal(t, want, (&Connection{fakeExaminer{addr: addr}}).Remote())
	}
	for _, addr := range []net.Addr{
		nil, &net.UnixAddr{Net: "unix", Name: "/run/redis"}, &net.UnixAddr{Net: "unix", Name: "host:1"},
		&net.UnixAddr{Net: "unix", Name: "10.0.0.1"},
	} {
		assert.Empty(t, (&Connection{fakeExaminer{addr: addr}}).Remote(), "%v", addr)
	}
}
