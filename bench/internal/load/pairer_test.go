package load

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unextendable is a lock that cannot be extended.
type unextendable struct {
	steps
	unlocked *int
}

func (u unextendable) Acquire(context.Context, string) (HeldLock, error) { return u, nil }

func (u unextendable) Extend(context.Context) error { return errors.New("too late") }

func (u unextendable) Unlock(context.Context) error {
	*u.unlocked++
	return nil
}

func TestAnExtensionThatFailsIsAFailedPairThatIsUnlocked(t *testing.T) {
	t.Parallel()
	var unlocked int
	m, err := ExtendingPairer{unextendable{unlocked: &unlocked}}.Pair(t.Context(), "x")
	require.ErrorContains(t, err, "too late")
	assert.Equal(t, 1, unlocked)
	assert.WithinDuration(t, time.Now(), m.extended, time.Minute)
}
