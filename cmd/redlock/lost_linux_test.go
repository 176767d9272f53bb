package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

// Nobody extends the lock any more, so the command must not go on for longer than its TTL.
func TestTheCommandEndsWithARedlockThatIsKilled(t *testing.T) {
	t.Parallel()
	p, pids := startFamily(t, redlocktest.Start(t, 3), family())
	require.NoError(t, p.cmd.Process.Kill())
	assert.Eventually(t, func() bool { return !alive(pids["child"]) }, patience, 5*time.Millisecond)
}

// What reads from the terminal finds itself in the foreground from its first moment on: shells insist on it.
func TestTheCommandStartsInTheForeground(t *testing.T) {
	t.Parallel()
	// The group of the process, and the terminal's.
	s := onTerminal(t, redlocktest.Start(t, 1), binary, "run", "name", "--", "cut", "-d ", "-f5,8", "/proc/self/stat")
	assert.Equal(t, 0, s.status())
	groups := strings.Fields(s.shown.String())
	require.Len(t, groups, 2)
	assert.Equal(t, groups[0], groups[1])
}
