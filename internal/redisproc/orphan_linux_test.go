package redisproc_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAKilledServerLeavesNoChild(t *testing.T) {
	t.Parallel()
	s := start(t, "--rdb-key-save-delay", "60000000")
	c := client(t, s)
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, c.BgSave(t.Context()).Err())
	group := -s.PID()
	require.NoError(t, s.Kill())
	gone := func() bool { return errors.Is(syscall.Kill(group, 0), syscall.ESRCH) }
	assert.Eventually(t, gone, soon, time.Millisecond)
}
