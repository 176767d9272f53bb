package link_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/node"
)

func TestTheDatabaseOfTheURLIsUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		m := w.Master(0)
		l := dial(t, opened(t, m.URL()+"/3", node.WithDialer(w.Dial)))
		require.Equal(t, link.Reply{Value: "OK"}, send(l, set("a"))[0])
		assert.Empty(t, m.Keys(), "of database 0")
		assert.Equal(t, []string{"a"}, m.Redis().DB(3).Keys())
	})
}

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

func TestAnErrorOfTheDialerIsReported(t *testing.T) {
	t.Parallel()
	m := opened(t, "redis://10.9.9.9", node.WithDialer(func(context.Context, string, string) (net.Conn, error) {
		return nil, os.ErrPermission
	}))
	require.ErrorIs(t, refused(t, m), os.ErrPermission)
}
