package link

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/node"
)

func TestTheUptimeOfAServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, "-7": 0, "3153600000": 3153600000 * time.Second, "3153600001": -1, "": -1, "x": -1,
	} {
		up, err := Uptime(map[string]string{"uptime_in_seconds": text})
		assert.Equal(t, want < 0, err != nil, "%q", text)
		assert.Equal(t, max(0, want), up, "%q", text)
	}
}

func TestARestartedServerIsNotTrustedWithinTheWindow(t *testing.T) {
	t.Parallel()
	at := func(seconds float64) time.Time {
		return time.Unix(0, 0).Add(time.Duration(seconds * float64(time.Second)))
	}
	s := Server{Up: at(0)}
	for _, tt := range []struct {
		window time.Duration
		at     float64
		left   time.Duration // negative: trusted
	}{
		{0, 0, -1},
		{0, -5, -1},
		{10 * time.Second, 0, 10 * time.Second},
		{10 * time.Second, 10, 0},
		{10 * time.Second, 10.001, -1},
	} {
		err := s.Trusted(tt.window, at(tt.at))
		if tt.left < 0 {
			assert.NoError(t, err, "%+v", tt)
			continue
		}
		var restart *node.RestartError
		if assert.ErrorAs(t, err, &restart, "%+v", tt) {
			assert.Equal(t, tt.left, restart.Left)
		}
	}
	s.Err = errors.New("no INFO")
	assert.Equal(t, s.Err, s.Trusted(0, at(99)))
}
