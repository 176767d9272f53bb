package suite

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

func TestAMajorityIsAsFarAsItsThirdMaster(t *testing.T) {
	t.Parallel()
	all, err := pickProfiles("five-continents-rough," + report.FiveContinents)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, 40*ms, all[0].Third())
	assert.Equal(t, 160*ms, linkTo(all[0], 4).RTT)
	assert.Zero(t, linkTo(all[0], 2).Loss)

	rough := all[1]
	assert.Positive(t, linkTo(rough, 2).Loss, "the third, which a majority needs")
	assert.Equal(t, 240*ms, linkTo(rough, 2).Resend, "TCP waits 200 ms beyond the round trip")
	assert.Zero(t, linkTo(rough, 1).Loss)
	assert.Positive(t, linkTo(rough, 1).Jitter)
	assert.Contains(t, rough.String(), "1/10/40/80/160 ms, jitter 10 %, 1 % lost on the way to the one 40ms away")
	for _, p := range allProfiles() {
		assert.Len(t, p.Trips, peers.QuorumMasters)
	}
}

func TestOnlyPlainMastersAreMovedAway(t *testing.T) {
	t.Parallel()
	_, err := delayMasters([]string{"redis://127.0.0.1:1", "unix:///tmp/redis.sock"})
	assert.ErrorContains(t, err, "unix masters cannot be moved away")
}
