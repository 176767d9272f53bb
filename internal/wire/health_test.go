package wire

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/node"
)

var errBroken = errors.New("broken")

func TestHealthBacksOff(t *testing.T) {
	t.Parallel()
	var h health
	assert.True(t, h.due(epoch), "a master that is not suspect")
	now := epoch
	for i, wait := range []time.Duration{20, 40, 80, 160, 320, 500, 500} {
		assert.Equal(t, i == 0, h.fail(errBroken, now), "only the first failure changes something")
		require.ErrorIs(t, h.suspect, errBroken)
		assert.False(t, h.due(now.Add(wait*time.Millisecond-1)))
		now = now.Add(wait * time.Millisecond)
		assert.True(t, h.due(now))
	}
	assert.True(t, h.answer())
	assert.False(t, h.answer(), "nothing changes")
	assert.True(t, h.due(now.Add(-1)), "it is not suspect any more")
	h.fail(errBroken, now)
	assert.Equal(t, now.Add(retryMin), h.retryAt, "the backoff begins again")
}

func TestHealthJudgesByExpiredCalls(t *testing.T) {
	t.Parallel()
	r := &Request{Asked: at(10), Deadline: at(12)}
	for name, c := range map[string]struct {
		silentSince float64
		want        bool
	}{
		"silent for all of the call's time":  {10, true},
		"silent for longer":                  {1, true},
		"silent for half of it":              {11, true},
		"it answered, the call only queued":  {11.1, false},
		"it has answered at the last moment": {12, false},
	} {
		var h health
		assert.Equal(t, c.want, h.expire(r, node.ErrTimeout, at(c.silentSince), at(12)), name)
		assert.Equal(t, c.want, h.suspect != nil, name)
	}
	var h health
	h.fail(errBroken, at(11.9))
	retryAt := h.retryAt
	assert.False(t, h.expire(r, node.ErrTimeout, at(10), at(12)))
	assert.Equal(t, retryAt, h.retryAt, "the next try is not postponed")
	assert.ErrorIs(t, h.suspect, errBroken)
}

// A master that accepts connections and ends each is tried ever more rarely, until it answers.
func TestAMasterThatHangsUpIsTriedMoreRarely(t *testing.T) {
	t.Parallel()
	for err, most := range map[error]time.Duration{errNotConnected: retryMax, io.EOF: hangUpMax} {
		var h health
		for range 20 {
			h.fail(err, epoch)
		}
		assert.Equal(t, most, h.backoff, err)
		h.answer()
		h.fail(err, epoch)
		assert.Equal(t, retryMin, h.backoff, "%v: after an answer", err)
	}
}
