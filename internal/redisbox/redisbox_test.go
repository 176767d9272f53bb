package redisbox_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/internal/redisbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts masters that end with the test.
func start(t *testing.T, n int, o redisbox.Options) []*redisbox.Master {
	t.Helper()
	redisbox.Need(t)
	masters, err := redisbox.Start(t.Context(), n, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, redisbox.CloseAll(masters)) })
	return masters
}

func set(t *testing.T, m *redisbox.Master, key string) {
	t.Helper()
	_, err := m.Do(t.Context(), "SET", key, "1")
	require.NoError(t, err)
}

func keys(t *testing.T, m *redisbox.Master) int {
	t.Helper()
	n, err := m.Do(t.Context(), "DBSIZE")
	require.NoError(t, err)
	return int(n.(int64))
}

// ask sends a PING that may take a quarter of a second.
func ask(t *testing.T, m *redisbox.Master) (time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := m.Do(ctx, "PING")
	return time.Since(begin), err
}

// Each fault, what a client sees of it, and that the same URL works after it.
func TestFaults(t *testing.T) {
	masters := start(t, 4, redisbox.Options{})
	ctx := t.Context()
	t.Run("a killed master refuses and comes back empty at its URL", func(t *testing.T) {
		m := masters[0]
		url := m.URL()
		set(t, m, "k")
		killed := time.Now()
		require.NoError(t, m.Kill(ctx))
		_, err := ask(t, m)
		require.ErrorIs(t, err, syscall.ECONNREFUSED, "refused, not silent")
		require.NoError(t, m.Start(ctx))
		assert.Equal(t, url, m.URL())
		assert.Zero(t, keys(t, m))
		up, err := m.Uptime(ctx)
		require.NoError(t, err)
		assert.Less(t, up, time.Since(killed)+2*time.Second)
	})
	t.Run("a paused master is silent and keeps its data", func(t *testing.T) {
		m := masters[1]
		set(t, m, "k")
		require.NoError(t, m.Freeze(ctx))
		took, err := ask(t, m)
		require.Error(t, err)
		assert.GreaterOrEqual(t, took, 240*time.Millisecond, "silent, not refused: %v", err)
		require.NoError(t, m.Restore(ctx))
		assert.Equal(t, 1, keys(t, m))
	})
	t.Run("a disconnected master breaks connections and comes back with its data", func(t *testing.T) {
		m := masters[2]
		set(t, m, "k")
		require.NoError(t, m.Disconnect(ctx))
		assert.Empty(t, m.ContainerAddr())
		_, err := ask(t, m)
		require.Error(t, err)
		require.NoError(t, m.Restore(ctx))
		assert.Equal(t, 1, keys(t, m))
		assert.NotEmpty(t, m.ContainerAddr())
	})
	t.Run("a black-holed master is silent on its own address too, and heals", func(t *testing.T) {
		redisbox.NeedBlackHole(t)
		m := masters[3]
		set(t, m, "k")
		require.NoError(t, m.BlackHole(ctx))
		took, err := ask(t, m)
		require.Error(t, err)
		assert.GreaterOrEqual(t, took, 240*time.Millisecond, "silent, not refused: %v", err)
		_, err = net.DialTimeout("tcp", m.ContainerAddr(), 250*time.Millisecond)
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		assert.True(t, timeout.Timeout(), "%v", err)
		require.NoError(t, m.Restore(ctx))
		assert.Equal(t, 1, keys(t, m))
	})
	t.Run("restore undoes all of them", func(t *testing.T) {
		require.NoError(t, masters[0].Kill(ctx))
		require.NoError(t, masters[1].Freeze(ctx))
		require.NoError(t, masters[2].Disconnect(ctx))
		if redisbox.CanBlackHole() == nil {
			require.NoError(t, masters[3].BlackHole(ctx))
		}
		for _, m := range masters {
			require.NoError(t, m.Restore(ctx))
			_, err := ask(t, m)
			assert.NoError(t, err)
		}
	})
	t.Run("the log shows both lives of a killed master", func(t *testing.T) {
		text, err := masters[0].Logs(ctx)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, strings.Count(text, "Ready to accept connections"), 2, text)
	})
}

func TestMastersAreTheirOwnServers(t *testing.T) {
	masters := start(t, 3, redisbox.Options{})
	set(t, masters[0], "k")
	assert.Equal(t, 1, keys(t, masters[0]))
	assert.Zero(t, keys(t, masters[1]))
	assert.Zero(t, keys(t, masters[2]))
	require.NoError(t, masters[0].Wipe(t.Context()))
	assert.Zero(t, keys(t, masters[0]))
	assert.Len(t, redisbox.URLs(masters), 3)
}

func TestWaitUptimeReturnsOnlyAboveTheWindow(t *testing.T) {
	m := start(t, 1, redisbox.Options{})[0]
	require.NoError(t, redisbox.WaitUptime(t.Context(), time.Second, m))
	up, err := m.Uptime(t.Context())
	require.NoError(t, err)
	assert.Greater(t, up, time.Second)
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	assert.ErrorContains(t, redisbox.WaitUptime(short, time.Hour, m), m.Addr(), "says which master is too young")
}

func TestAClosedMasterIsGone(t *testing.T) {
	m := start(t, 1, redisbox.Options{})[0]
	require.NoError(t, m.Freeze(t.Context()), "in whatever state it is")
	require.NoError(t, m.Close())
	require.NoError(t, m.Close(), "closing twice is no error")
	_, err := ask(t, m)
	assert.Error(t, err)
}

func TestSweepRemovesWhatDeadProcessesLeftAndNothingElse(t *testing.T) {
	redisbox.Need(t)
	short := exec.Command(os.Args[0], "-test.run=^$")
	require.NoError(t, short.Run())
	*redisbox.Owner = short.Process.Pid
	t.Cleanup(func() { *redisbox.Owner = os.Getpid() })
	left := start(t, 1, redisbox.Options{})[0]
	*redisbox.Owner = os.Getpid()
	ours := start(t, 1, redisbox.Options{})[0]

	require.NoError(t, redisbox.Sweep(t.Context()))
	_, err := ask(t, left)
	assert.Error(t, err, "its process is dead")
	_, err = ask(t, ours)
	assert.NoError(t, err, "its process is this one")
}
