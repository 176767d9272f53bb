//go:build unix

package main_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

// alive reports whether a process runs. A zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) || !procfs()
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func procfs() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// The command may be suspended: it must not continue later.
func TestALostLockEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]bool{"running": false, "suspended": true}, func(t *testing.T, suspended bool) {
		masters := redlocktest.Start(t, 5)
		l := startListeners(t, masters, nil, "run --ttl 5s --grace 1h", "bg!", "direct!")
		if suspended {
			require.NoError(t, syscall.Kill(-l.pids()["direct!"], syscall.SIGSTOP))
		}
		stopAll(masters[:3])
		assert.Equal(t, 70, l.wait(), "redlock does not wait for the whole grace period")
		assert.Empty(t, l.living())
		l.once(syscall.SIGTERM)
		assert.Regexp(t, `"name".*lost`, l.stderr.String())
	})
}

func TestMaxHoldIsALoss(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	got := redlock(t, masters, "run", "--max-hold", "4s", "name", "--", "sh", "-c",
		`trap "exit 0" TERM; while :; do sleep 0.02; done`)
	assert.Equal(t, 70, got.code)
	assert.Regexp(t, `^(Terminated\n)*redlock: [^\n]*lost[^\n]*maximum of 4s \(--max-hold\); stopping the command\n`+
		`(Terminated\n)*redlock: sh ended with status 0\n$`, got.stderr, "the loss is reported once, with flags for options")
	assert.Equal(t, 1, strings.Count(got.stderr, `"name"`))
	assert.True(t, free(t, masters, "name"), "the remaining keys are released")
}

// All masters lose the token while the command runs, and the command ends before redlock notices.
func TestALossNoticedByUnlockIsReported(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	p, end := hold(t, masters, "name", "--ttl", "1m")
	for _, m := range masters {
		m.Wipe()
	}
	end()
	assert.Equal(t, 70, p.wait())
	assert.Regexp(t, `^redlock: [^\n]*lost[^\n]*; sh ended with status 0\n$`, p.stderr.String())
}

func TestLeadCampaignsAgainAfterALoss(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	p := launch(t, masters, "lead", "--ttl", "5s", "name", "--", "sh", "-c",
		`trap 'echo TERM; exit 0' TERM; echo "$REDLOCK_FENCE"; while :; do sleep 0.02; done`)
	first := p.printed()
	for _, m := range masters {
		m.Hold("name", 6*time.Second) // another client takes it for longer than the TTL
	}
	require.Eventually(t, func() bool { return strings.Count(p.stdout.String(), "\n") == 3 }, 2*patience, time.Millisecond)
	said := strings.Fields(p.stdout.String())
	assert.Equal(t, "TERM", said[1], "the first command was stopped")
	assert.Less(t, first, number(t, said[2]))
	assert.Contains(t, p.stderr.String(), "stopping the command")
	assert.Contains(t, p.stderr.String(), "campaigning again")
	p.signal(syscall.SIGTERM)
	assert.Equal(t, 0, p.wait(), "the second command handles it")
	assert.True(t, free(t, masters, "name"), "it has resigned")
}
