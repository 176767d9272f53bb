package link_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/node"
)

func TestAUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "redlock") //nolint:usetesting // t.TempDir is too long for a socket's path
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "redis.sock")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	srv := &testnet.Scripted{Answer: func([]string) (string, bool) { return "+OK\r\n", false }}
	testnet.ServeOn(t, l, srv.Serve)
	assert.Equal(t, link.Reply{Value: "OK"}, send(dial(t, opened(t, "unix://"+path)), set("a"))[0])
}

// The timeout is four times as long as the last attempt took that succeeded.
func TestAMasterThatGetsFartherAwayIsReached(t *testing.T) {
	inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
		attempt := func() error {
			l, err := m.Open(t.Context(), 0)
			if err == nil {
				l.Close()
			}
			return err
		}
		s.Delay(450*time.Millisecond, 0) // connect, handshake: 1.8 s
		require.ErrorIs(t, attempt(), node.ErrTimeout)
		s.Delay(150*time.Millisecond, 0) // 0.6 s
		require.NoError(t, attempt())
		s.Delay(450*time.Millisecond, 0)
		assert.NoError(t, attempt())
	})
}

// The timeouts of the URL do not end a connection.
func TestTheTimeoutsOfTheURLAreNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		m := opened(t, w.Master(0).URL()+"?read_timeout=1ms&write_timeout=1ms", node.WithDialer(w.Dial))
		w.Master(0).Delay(10*time.Millisecond, 0)
		assert.Equal(t, link.Reply{Value: "OK"}, send(dial(t, m), set("a"))[0])
		sub, err := m.Subscribe(t.Context())
		require.NoError(t, err)
		defer sub.Close()
		require.NoError(t, sub.Subscribe([]string{"a"}))
		channel, _, err := sub.Receive()
		require.NoError(t, err)
		assert.Equal(t, "a", channel)
	})
}

func TestTheDatabaseOfTheURLIsUsed(t *testing.T) {
	inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
		require.Equal(t, link.Reply{Value: "OK"}, send(dial(t, m), set("a"))[0])
		assert.Empty(t, s.Keys(), "of database 0")
		assert.Equal(t, []string{"a"}, s.Redis().DB(3).Keys())
	})
}
