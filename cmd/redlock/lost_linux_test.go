package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

// The reader of stderr has ended, as with "2>&1 | head".
func TestALossIsReportedByTheStatusIfStderrIsClosed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		flag, command string
		want          int
	}{"lost": {"--max-hold=300ms", "sleep 30", 70}, "verbose": {"-v", "exit 7", 7}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
}

// The command must be in the foreground from its start: shells require it to read from the terminal.
func TestTheCommandStartsInTheForeground(t *testing.T) {
	t.Parallel()
	// The group of the process, and the terminal's.
	s := onTerminal(t, redlocktest.Start(t, 1), binary, "run", "name", "--", "cut", "-d ", "-f5,8", "/proc/self/stat")
	assert.Equal(t, 0, s.status())
	groups := strings.Fields(s.shown.String())
	require.Len(t, groups, 2)
	assert.Equal(t, groups[0], groups[1])
}
