package faults_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	box "github.com/redlock-go/redlock/internal/redisbox"
)

func TestASlowLinkDelaysAnswersAlone(t *testing.T) {
	t.Parallel()
	s, c := oneMaster(t)
	s.inject(faults.SlowLink)
	begin := time.Now()
	done := make(chan error, 1)
	go func() { done <- c.Set(t.Context(), "lock", "1", time.Hour).Err() }()
	s.eventually("the command arrives", func() bool { return len(s.keys()) == 1 })
	assert.Empty(t, done, "before its answer")
	require.NoError(t, <-done)
	assert.GreaterOrEqual(t, time.Since(begin), 300*time.Millisecond)
	s.heal(faults.SlowLink)
}

func TestAJitteryLinkTakesItsTime(t *testing.T) {
	t.Parallel()
	s, c := oneMaster(t)
	s.inject(faults.JitteryLink)
	least, most := soon, time.Duration(0)
	for range 8 {
		begin := time.Now()
		require.NoError(t, c.Ping(t.Context()).Err())
		least, most = min(least, time.Since(begin)), max(most, time.Since(begin))
	}
	assert.Greater(t, most-least, 20*time.Millisecond)
	s.heal(faults.JitteryLink)
}

func TestATricklingLinkLosesNothing(t *testing.T) {
	t.Parallel()
	s, c := oneMaster(t)
	s.inject(faults.TricklingLink)
	value := strings.Repeat("abcdefgh", 20)
	begin := time.Now()
	require.NoError(t, c.Set(t.Context(), "lock", value, time.Hour).Err())
	got, err := c.Get(t.Context(), "lock").Result()
	require.NoError(t, err)
	assert.Equal(t, value, got)
	assert.Greater(t, time.Since(begin), 50*time.Millisecond)
	s.heal(faults.TricklingLink)
}

func TestAResettingLinkBreaksEveryConnection(t *testing.T) {
	t.Parallel()
	s, c := oneMaster(t)
	s.inject(faults.ResettingLink)
	for range 3 {
		err := c.Set(t.Context(), "lock", "1", time.Hour).Err()
		require.Error(t, err)
		assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "broken, not silent")
	}
	assert.Empty(t, s.keys())
	s.heal(faults.ResettingLink)
}

func TestACutLinkRefusesAndTheMasterKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	s, c := oneMaster(t)
	s.set(c, "lock")
	s.inject(faults.CutLink)
	err := c.Ping(t.Context()).Err()
	require.Error(t, err)
	assert.True(
		t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET), "%v", err,
	)
	require.ErrorIs(t, c.Ping(t.Context()).Err(), syscall.ECONNREFUSED)
	assert.Equal(t, []string{"lock"}, s.keys())
	s.heal(faults.CutLink)
	assert.Equal(t, []string{"lock"}, s.keys())
}

// A client that gets no reply cannot know what has happened.
func TestSilence(t *testing.T) {
	t.Parallel()
	for fault, effect := range map[string][]string{
		faults.SilentLink:   {},
		faults.LostCommands: {},
		faults.LostAnswers:  {"lock"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			s, c := oneMaster(t)
			c = c.WithTimeout(answer)
			s.inject(fault)
			require.ErrorIs(t, c.Set(t.Context(), "lock", "1", time.Hour).Err(), os.ErrDeadlineExceeded)
			assert.Equal(t, effect, s.keys())
			fresh := c.Set(t.Context(), "lock", "2", time.Hour).Err() // on another connection
			require.ErrorIs(t, fresh, os.ErrDeadlineExceeded)
			assert.Equal(t, effect, s.keys())
			s.heal(fault)
			assert.Equal(t, effect, s.keys(), "what was lost does not come back")
		})
	}
}

// Packets that were dropped are sent again: the connection lives on, and a command takes effect when it arrives.
func TestBlackHoles(t *testing.T) {
	t.Parallel()
	const ttl, dark = time.Hour, 2 * time.Second
	for fault, late := range map[string]bool{
		faults.BlackHole:         true,
		faults.BlackHoleCommands: true,
		faults.BlackHoleAnswers:  false,
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			box.NeedBlackHole(t)
			s := open(t, backend.Containers, one)
			c := s.client().WithTimeout(answer)
			s.inject(fault)
			begin := time.Now()
			require.ErrorIs(t, c.Set(t.Context(), "lock", "1", ttl).Err(), os.ErrDeadlineExceeded)
			s.eventually("it lasts", func() bool { return time.Since(begin) > dark })
			s.heal(fault)
			s.eventually("the command takes effect", func() bool { return len(s.keys()) == 1 })
			ago := ttl - s.left("lock")
			if late {
				assert.Less(t, ago, time.Since(begin)-dark, "it arrived after the heal")
			} else {
				assert.Greater(t, ago, dark-answer, "it arrived at once")
			}
		})
	}
}

func TestAnUnpluggedMasterKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	box.NeedBlackHole(t)
	s := open(t, backend.Containers, one)
	c := s.client()
	s.set(c, "lock")
	s.inject(faults.Unplug)
	require.Error(t, c.WithTimeout(answer).Ping(t.Context()).Err())
	require.Error(t, s.inspector.Ping(t.Context(), 0), "it is unreachable")
	s.heal(faults.Unplug)
	assert.Equal(t, []string{"lock"}, s.keys())
}
