package main_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

// A script must not take an empty file for an answer.
func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	masters := redlocktest.Start(t, 3)
	for _, args := range [][]string{
		{"status"},
		{"status", "--json", "name"},
		{"doctor", "--watch", "--json", "--without-restart-guard"}, // of which it warns
	} {
		p := launchWith(t, masters, func(c *exec.Cmd) { c.Stdout = full }, args...)
		assert.Equal(t, 74, p.wait())
		assert.Contains(t, p.stderr.String(), "redlock: the output could not be written: ")
	}
}

// The reader of stderr has ended, as with "2>&1 | head".
func TestALossIsReportedByTheStatusIfStderrIsClosed(t *testing.T) {
	t.Parallel()
	type testCase struct {
		flag, command string
		want          int
	}
	testmain.Each(t, map[string]testCase{
		"lost":    {"--max-hold=300ms", "sleep 30", 70},
		"verbose": {"-v", "exit 7", 7},
	}, func(t *testing.T, tc testCase) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		p := launchWith(
			t, redlocktest.Start(t, 3), func(c *exec.Cmd) { c.Stderr = w }, "run", tc.flag, "name", "--", "sh", "-c",
			tc.command,
		)
		require.NoError(t, w.Close())
		assert.Equal(t, tc.want, p.wait())
	})
}
