package memnet_test

import (
	"context"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/memnet"
)

func TestAddressesAreUniqueAndNoRealMasters(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 3 {
		for _, addr := range memnet.Reserve(200) {
			assert.False(t, seen[addr], addr)
			assert.True(t, strings.HasPrefix(addr, "192.0.2."), addr)
			host, _, err := net.SplitHostPort(addr)
			require.NoError(t, err)
			assert.NotNil(t, net.ParseIP(host), addr)
			seen[addr] = true
		}
	}
}

func TestAnAddressConnectsUntilItsServerEnds(t *testing.T) {
	t.Parallel()
	addrs := memnet.Reserve(2)
	require.Nil(t, memnet.Find(addrs[0]), "nothing is served there yet")
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	stop := memnet.Serve(addrs, func(context.Context, string, string) (net.Conn, error) { return here, nil })

	for _, addr := range addrs {
		conn, err := memnet.Find(addr)(t.Context(), "tcp", addr)
		require.NoError(t, err)
		assert.Equal(t, here, conn)
	}

	stop()
	_, err := memnet.Find(addrs[1])(t.Context(), "tcp", addrs[1])
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.ErrorContains(t, err, addrs[1])
}

func TestOtherAddressesAreLeftToTheSystem(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1:6379", "192.0.2.1:1", "redis.example.com:6379", ""} {
		assert.Nil(t, memnet.Find(addr), addr)
	}
}
