package clients_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/redlocktest"
)

// A client that runs in the process of a test with a locker of its own finds the goroutines of that.
func TestALockerThatIsLeftOpenIsCounted(t *testing.T) {
	t.Parallel()
	l := redlocktest.NewLocker(t, 3)
	lock, err := l.Lock(t.Context(), "open")
	require.NoError(t, err)
	defer func() { assert.NoError(t, lock.Unlock(t.Context())) }()

	dir := t.TempDir()
	c := plainConfig(t)
	c.Client, c.History = "a", filepath.Join(dir, "a.jsonl")
	require.NoError(t, inProcess(t, c, "Quit"))
	events, err := history.ReadDir(dir)
	require.NoError(t, err)
	last := events[len(events)-1]
	assert.Equal(t, history.Quitting, last.Kind)
	assert.Positive(t, last.Goroutines)
}
