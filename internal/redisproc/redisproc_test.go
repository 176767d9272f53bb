package redisproc_test

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/internal/redisproc"
)

const soon = 10 * time.Second // longer than anything here takes on a busy machine

func TestMain(m *testing.M) {
	if os.Getenv(parentVar) != "" {
		parent()
	}
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, args ...string) *redisproc.Server {
	t.Helper()
	redisproc.Need(t)
	s, err := redisproc.Start(t.Context(), args...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func client(t *testing.T, s *redisproc.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func refused(addr string) func() bool {
	return func() bool {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}
}

func TestAServerKeepsNothingAndIsGoneWithItsDirectory(t *testing.T) {
	t.Parallel()
	s := start(t)
	config, err := client(t, s).ConfigGet(t.Context(), "*").Result()
	require.NoError(t, err)
	assert.Empty(t, config["save"])
	assert.DirExists(t, config["dir"])

	require.NoError(t, s.Close())
	assert.True(t, refused(s.Addr())())
	assert.NoDirExists(t, config["dir"])
	assert.Zero(t, s.PID())
	assert.NoError(t, s.Close(), "a second Close does nothing")
}

func TestRestartedServerIsEmptyAndAnother(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*redisproc.Server) error{
		"running": func(*redisproc.Server) error { return nil },
		"killed":  (*redisproc.Server).Kill,
		"frozen":  (*redisproc.Server).Freeze,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			c := client(t, s)
			require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
			pid, addr := s.PID(), s.Addr()

			require.NoError(t, before(s))
			require.NoError(t, s.Start(t.Context()))
			assert.Equal(t, addr, s.Addr())
			assert.NotEqual(t, pid, s.PID())
			n, err := client(t, s).DBSize(t.Context()).Result()
			require.NoError(t, err)
			assert.Zero(t, n)
		})
	}
}

func TestFrozenServerIsSilentUntilThawed(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := client(t, s)
	require.NoError(t, c.Ping(t.Context()).Err())

	require.NoError(t, s.Freeze())
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, c.Ping(short).Err(), os.ErrDeadlineExceeded)

	require.NoError(t, s.Thaw())
	assert.NoError(t, c.Ping(t.Context()).Err())
}

func TestKilledServerCannotBeFrozen(t *testing.T) {
	t.Parallel()
	s := start(t)
	require.NoError(t, s.Kill())
	assert.True(t, refused(s.Addr())())
	assert.ErrorContains(t, s.Freeze(), "not running")
	assert.NoError(t, s.Kill(), "killing a killed server does nothing")
}

func TestPasswordIsNoObstacle(t *testing.T) {
	t.Parallel()
	s := start(t, "--requirepass", "secret")
	assert.ErrorContains(t, client(t, s).Ping(t.Context()).Err(), "NOAUTH")
}

func TestStartOnATakenPortFailsWithTheLog(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(start(t).Addr())
	require.NoError(t, err)
	s, err := redisproc.Start(t.Context(), "--port", port)
	require.Nil(t, s)
	assert.ErrorContains(t, err, "Address already in use")
}

func TestStartNLeavesNoneRunningWhenOneFails(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	_, err := redisproc.StartN(t.Context(), 3, "--no-such-option", "x")
	assert.ErrorContains(t, err, "the process ended")
}

func TestWithoutRedisServerTheErrorSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := redisproc.Start(t.Context())
	require.ErrorIs(t, err, redisproc.ErrNotInstalled)
	assert.ErrorContains(t, err, "install")

	var asked verdict
	t.Setenv(need.Redis, "")
	redisproc.Need(&asked)
	assert.Equal(t, verdict{skipped: true}, asked)
	t.Setenv(need.Redis, "1")
	asked = verdict{}
	redisproc.Need(&asked)
	assert.Equal(t, verdict{failed: true}, asked)
}

// verdict is a test that Need may skip or fail.
type verdict struct {
	redisproc.TB
	skipped, failed bool
}

func (*verdict) Helper()                 {}
func (v *verdict) Skip(...any)           { v.skipped = true }
func (v *verdict) Fatalf(string, ...any) { v.failed = true }
