package doctor_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
}
