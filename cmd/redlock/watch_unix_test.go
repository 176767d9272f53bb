//go:build unix

package main_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/redlocktest"
)

func TestWatchRefreshesTheMasters(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	s := onTerminal(t, masters, binary, "status", "--watch")
	s.expect(`\x1b\[H\d\d:\d\d:\d\d, refreshed every 2s, Ctrl-C ends`)
	s.expect(`MASTER +REACHABLE`)
	s.expect(`3 of 3 may vote`)
	masters[0].Stop()
	s.expect(`\x1b\[H[^\x00]*2 of 3 may vote`)
	s.expect(`connection refused`)
	masters[1].Stop()
	s.expect(`redlock: no majority of the masters may vote`)
	masters[0].Start()
	masters[1].Start()
	s.expect(`restarted a moment ago`)
	s.types("\x03")
	assert.Equal(t, 0, s.status())
}

func TestWatchRefreshesLocks(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	_, end := hold(t, masters, "name")
	s := onTerminal(t, masters, binary, "status", "--watch", "name")
	s.expect(`name: held by `)
	end()
	s.expect(`name: free`)
	s.types("\x03")
	assert.Equal(t, 0, s.status())
}

func TestWatchEndsWithAWrongUsage(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, redlocktest.Start(t, 3), binary, "status", "--watch", "redlock:fence:x")
	s.expect(`redlock:fence:`)
	assert.Equal(t, 64, s.status())
}

func TestDoctorRefreshesItsFindings(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, redlocktest.Start(t, 3), binary, "doctor", "--watch")
	s.expect(`\x1b\[H\d\d:\d\d:\d\d, refreshed every 20s, Ctrl-C ends`)
	s.expect(`NOTE  `)
	s.types("\x03")
	assert.Equal(t, 0, s.status())
}
