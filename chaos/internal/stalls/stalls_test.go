//go:build unix

package stalls_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/stalls"
)

// asWatched makes this test binary a process that watches itself, and writes its history there.
const asWatched = "REDLOCK_STALLS_TEST_HISTORY"

func TestMain(m *testing.M) {
	path := os.Getenv(asWatched)
	if path == "" {
		goleak.VerifyTestMain(m)
		return
	}
	w, err := history.Create(path, history.NewClock())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	stalls.Detect(w, "c1", 7)
	w.Write(history.Event{Kind: history.Phase, Phase: history.Storm}) // it watches
	select {}
}

// read returns what the history holds so far.
func read(dir string) []history.Event {
	events, err := history.ReadDir(dir)
	if err != nil {
		return nil // the file is not there yet, or a line is half written
	}
	return events
}

func TestAFrozenProcessReportsItsStall(t *testing.T) {
	t.Parallel()
	const (
		stood = 400 * time.Millisecond
		soon  = 20 * time.Second
		look  = 10 * time.Millisecond
	)
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	c := exec.Command(self)
	c.Env = append(os.Environ(), asWatched+"="+filepath.Join(dir, "c1.jsonl"))
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		assert.NoError(t, c.Process.Kill())
		_ = c.Wait() // it was killed
	})
	require.Eventually(t, func() bool { return len(read(dir)) > 0 }, soon, look)
	require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
	time.Sleep(stood)
	require.NoError(t, c.Process.Signal(syscall.SIGCONT))
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(read(dir), func(e history.Event) bool {
			return e.Kind == history.Stalled && e.Client == "c1" && e.Life == 7 && e.Stall > stood/2
		})
	}, soon, look)
}

func TestStopEndsTheGoroutine(t *testing.T) { // goleak checks
	t.Parallel()
	dir := t.TempDir()
	w, err := history.Create(filepath.Join(dir, "harness.jsonl"), history.NewClock())
	require.NoError(t, err)
	stalls.Detect(w, "", 0)()
	require.NoError(t, w.Close())
}
