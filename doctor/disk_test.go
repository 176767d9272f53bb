package doctor_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/wallclock"
)

// slowDisk has each sync of a file take four seconds. Redis waits for a sync that has taken two.
const slowDisk = "#include <unistd.h>\nint fdatasync(int fd) { sleep(4); return 0; }\n"

func TestADiskThatSyncsSlowly(t *testing.T) {
	t.Parallel()
	const title = "waits for its disk"
	redisproc.Need(t)
	redisproc.SkipIf(t, wallclock.Available()) // gcc, and LD_PRELOAD
	server, err := redisproc.StartWith(t.Context(), func(dir string) (redisproc.Options, error) {
		lib := filepath.Join(dir, "disk.so")
		gcc := exec.Command("gcc", "-shared", "-fPIC", "-x", "c", "-o", lib, "-")
		gcc.Stdin = strings.NewReader(slowDisk)
		return redisproc.Options{
			Args: []string{"--appendonly", "yes", "--appendfsync", "everysec"}, Env: []string{"LD_PRELOAD=" + lib},
		}, gcc.Run()
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	url := []string{server.URL()}
	assert.Empty(t, titled(examine(t, url), title))
	c := connect(t, server)
	require.Eventually(t, func() bool {
		_ = c.Incr(t.Context(), "x") // something to sync
		text, err := c.Info(t.Context(), "persistence").Result()
		return err == nil && !hasLine(text, "aof_delayed_fsync:0")
	}, patience, 100*time.Millisecond)
	found := titled(examine(t, url), title)
	require.Len(t, found, 1)
	assert.Equal(t, doctor.Warning, found[0].Severity)
	assert.Regexp(t, `aof_delayed_fsync is \d+`, found[0].Why)
	assert.NotContains(t, found[0].Fix, "no-appendfsync-on-rewrite", "locks without the restart guard need it to be no")
}

// Without the restart guard, a master must sync every write before it replies. With no-appendfsync-on-rewrite it does
// not while it saves a snapshot or rewrites its AOF.
func TestWhatForgetsLocksInARestart(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1, "--appendonly", "yes", "--appendfsync", "always")[0]
	c := connect(t, server)
	for _, step := range []struct{ parameter, value, why string }{
		{"no-appendfsync-on-rewrite", "no", ""},
		{"no-appendfsync-on-rewrite", "yes", "no-appendfsync-on-rewrite is yes"},
		{"appendfsync", "everysec", "appendfsync is everysec"},
		{"no-appendfsync-on-rewrite", "no", "appendfsync is everysec"},
		{"appendonly", "no", "aof_enabled is not 1"},
	} {
		require.NoError(t, c.ConfigSet(t.Context(), step.parameter, step.value).Err())
		guarded := examine(t, []string{server.URL()})
		assert.Empty(t, titled(guarded, "forgets locks in a restart"), "%+v", step)
		found := titled(examine(t, []string{server.URL()}, redlock.WithoutRestartGuard()), "forgets locks in a restart")
		if step.why == "" {
			assert.Empty(t, found)
			continue
		}
		if assert.Len(t, found, 1, "%+v", step) {
			assert.Equal(t, doctor.Danger, found[0].Severity)
			assert.Contains(t, found[0].Why, "the restart guard is off, and "+step.why)
			assert.Contains(t, found[0].Fix, "CONFIG SET no-appendfsync-on-rewrite no")
		}
	}
}
