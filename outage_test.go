package redlock_test

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

// A lock that ends while its failed extension is recorded does not silence the next lock that cannot be extended.
func TestALockThatEndsWhileItFailsSilencesNoOther(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := redlocktest.NewLocker(t, 1, redlock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	lk, err := l.TryLock(t.Context(), "x")
	require.NoError(t, err)
	lk.FailExtension(true, errors.New("the first"))
	lk.FailExtension(false, errors.New("the second"))
	lk.FailExtension(false, errors.New("the third"))
	require.NoError(t, l.Close()) // the lines are written
	assert.Contains(t, log.String(), "the second")
	assert.NotContains(t, log.String(), "the third", "an outage is told once")
}
