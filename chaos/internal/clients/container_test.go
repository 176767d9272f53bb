package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/internal/redisbox"
	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
	"github.com/redlock-go/redlock/redlocktest"
)

// need skips the test if something is missing. It fails the test where skips are not allowed.
func need(t *testing.T, missing error) {
	t.Helper()
	if missing != nil && os.Getenv(redisbox.EnvRequire) != "1" {
		t.Skip(missing)
	}
	require.NoError(t, missing)
}

// containers returns a runner of the harness in containers.
func containers(t *testing.T) *clients.Containers {
	t.Helper()
	err := redisimage.Available(t.Context())
	if err == nil {
		err = new(clients.Containers).CanFreeze()
	}
	need(t, err)
	c, err := clients.OpenContainers(t.Context(), asClient)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, c.Close())
		assert.NoError(t, c.Close(), "it is gone")
	})
	return c
}

func TestClientsInContainers(t *testing.T) {
	t.Parallel()
	runner := containers(t)
	masters := redlocktest.Start(t, 3)
	f, log := newFleet(t, 2, traffic.Config{Lock: traffic.Quorum, URLs: redlocktest.URLs(masters), Groups: trusted})
	f.Runner = runner
	withRegisters(t, f)
	require.NoError(t, f.StartAll(t.Context()))
	require.NotEmpty(t, ps(t))
	writes := func(client, life int) int {
		return has(read(t, f), func(e history.Event) bool {
			return e.Kind == history.Written && e.Client == traffic.Name(client) && e.Life == life
		})
	}
	both := func(life int) func() bool {
		return func() bool { return writes(0, life) > 2 && writes(1, 0) > 2 }
	}
	require.Eventually(t, both(0), soon, look)

	t.Run("share the clock of this machine", func(t *testing.T) {
		clock := history.NewClock()
		before := clock.Now()
		n := writes(0, 0)
		require.Eventually(t, func() bool { return writes(0, 0) > n+1 }, soon, look)
		after := clock.Now()
		assert.Positive(t, has(read(t, f), func(e history.Event) bool { // the container's own events, not the register's
			return e.Kind == history.Acquired && e.Client == traffic.Name(0) && e.T > before && e.T < after
		}))
		inOrder(t, read(t, f))
	})
	t.Run("are paused", func(t *testing.T) {
		require.NoError(t, f.Freeze(t.Context(), 0))
		other := writes(1, 0)
		was := writes(0, 0)
		require.Eventually(t, func() bool { return writes(1, 0) > other+10 }, soon, look)
		assert.Equal(t, was, writes(0, 0))
		require.NoError(t, f.Thaw(t.Context(), 0))
		require.Eventually(t, func() bool { return writes(0, 0) > was }, soon, look)
	})
	t.Run("freeze themselves", func(t *testing.T) {
		require.NoError(t, f.SetCrashPoint(t.Context(), 0, traffic.FrozenHolding))
		was, other := -1, 0
		require.Eventually(t, func() bool {
			if n := writes(0, 0); n != was {
				was, other = n, writes(1, 0)
			}
			return writes(1, 0) > other+20
		}, soon, look)
		require.NoError(t, f.Thaw(t.Context(), 0))
		require.Eventually(t, func() bool { return writes(0, 0) > was }, soon, look)
	})
	t.Run("kill themselves, and live again", func(t *testing.T) {
		require.NoError(t, f.SetCrashPoint(t.Context(), 0, traffic.Holding))
		require.NoError(t, f.WaitGone(t.Context(), 0, soon))
		require.NoError(t, f.Start(t.Context(), 0))
		require.Eventually(t, both(1), soon, look)
	})
	t.Run("are killed, frozen as they are", func(t *testing.T) {
		require.NoError(t, f.Freeze(t.Context(), 1))
		require.NoError(t, f.Kill(t.Context(), 1))
		require.ErrorContains(t, f.Healthy(1), "has ended")
		require.NoError(t, f.Kill(t.Context(), 1), "twice is nothing")
		require.NoError(t, f.Start(t.Context(), 1))
	})
	require.NoError(t, f.Quit(t.Context()))
	assert.Empty(t, log.all())
	assert.Equal(
		t, 2, has(read(t, f), func(e history.Event) bool { return e.Kind == history.Quitting && e.Goroutines == 0 }),
	)
	require.Eventually(t, func() bool { return ps(t) == "" }, soon, 10*look, "no container is left")
}

// ps returns the ids of the containers of clients that this process started.
func ps(t *testing.T) string {
	t.Helper()
	args := []string{"ps", "-aq", "--filter", "name=redlock-chaos-"}
	for key, value := range redisbox.Labels() {
		args = append(args, "--filter", "label="+key+"="+value)
	}
	out, err := exec.CommandContext(t.Context(), "docker", args...).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func TestAnImageIsMadeOfAProgramAndItsLibraries(t *testing.T) {
	t.Parallel()
	containers(t)
	script := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	_, err := clients.Image(t.Context(), script)
	require.ErrorContains(t, err, "no Linux program")
	shell, err := exec.LookPath("sh") // dynamic, as a rule
	require.NoError(t, err)
	image, err := clients.Image(t.Context(), shell)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, exec.Command("docker", "rmi", "--force", image).Run()) })
	out, err := exec.CommandContext(t.Context(), "docker", "run", "--rm", image, "-c", "echo it runs").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "it runs\n", string(out))
}

// inOrder asserts that what the registers wrote down here about an acquisition lies between what its client wrote down
// elsewhere: acquired, then written, then on the way to be released.
func inOrder(t *testing.T, events []history.Event) {
	t.Helper()
	acquired, released := map[history.ID]time.Duration{}, map[history.ID]time.Duration{}
	for _, e := range events {
		switch e.Kind {
		case history.Acquired:
			acquired[e.ID()] = e.T
		case history.ReleaseCalled:
			released[e.ID()] = e.T
		default: // of no use here
		}
	}
	for _, e := range events {
		if e.Kind != history.Written {
			continue
		}
		assert.Contains(t, acquired, e.ID())
		assert.Greater(t, e.T, acquired[e.ID()])
		if at, ok := released[e.ID()]; ok {
			assert.Less(t, e.T, at)
		}
	}
}
