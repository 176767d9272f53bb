package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAMajorityIsAsFarAsItsThirdMaster(t *testing.T) {
	t.Parallel()
	all, err := pickProfiles("five-continents-rough," + fiveContinents)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, 40*ms, all[0].third())
	assert.Equal(t, 160*ms, all[0].link(4).RTT)
	assert.Zero(t, all[0].link(2).Loss)

	rough := all[1]
	assert.Positive(t, rough.link(2).Loss, "the third, which a majority needs")
	assert.Equal(t, 240*ms, rough.link(2).Resend, "TCP waits 200 ms beyond the round trip")
	assert.Zero(t, rough.link(1).Loss)
	assert.Positive(t, rough.link(1).Jitter)
	assert.Contains(t, rough.String(), "1/10/40/80/160 ms, jitter 10 %, 1 % lost on the way to the one 40ms away")
	for _, p := range allProfiles() {
		assert.Len(t, p.Trips, quorumMasters)
	}
}

// unextendable is a lock that cannot be extended.
type unextendable struct {
	steps
	unlocked *int
}

func (u unextendable) Take(context.Context, string) (grip, error) { return u, nil }
func (u unextendable) Extend(context.Context) error               { return errors.New("too late") }
func (u unextendable) Unlock(context.Context) error {
	*u.unlocked++
	return nil
}

func TestAnExtensionThatFailsIsAFailedPairThatIsUnlocked(t *testing.T) {
	t.Parallel()
	var unlocked int
	m, err := triple{unextendable{unlocked: &unlocked}}.Pair(t.Context(), "x")
	require.ErrorContains(t, err, "too late")
	assert.Equal(t, 1, unlocked)
	assert.WithinDuration(t, time.Now(), m.extended, time.Minute)
}

func TestOnlyPlainMastersAreMovedAway(t *testing.T) {
	t.Parallel()
	_, err := moveAway([]string{"redis://127.0.0.1:1", "unix:///tmp/redis.sock"})
	assert.ErrorContains(t, err, "unix masters cannot be moved away")
}
