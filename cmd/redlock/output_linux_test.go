package main_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

// A script must not take an empty file for an answer.
func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	masters := redlocktest.Start(t, 3)
	for _, args := range [][]string{{"status"}, {"status", "--json", "name"}} {
		p := launchWith(t, masters, func(c *exec.Cmd) { c.Stdout = full }, args...)
		assert.Equal(t, 74, p.wait())
		assert.Contains(t, p.stderr.String(), "redlock: the output could not be written: ")
	}
}
