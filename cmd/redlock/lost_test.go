//go:build unix

package main_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
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
		l := startListeners(t, masters, nil, []string{"--ttl", "5s", "--grace", "1h"},
			as(background, "bg!")+as(direct, "direct!"), "bg!", "direct!")
		if suspended {
			require.NoError(t, syscall.Kill(-l.pids()["direct!"], syscall.SIGSTOP))
		}
		stopAll(masters[:3])
		assert.Equal(t, 70, l.wait(), "redlock does not wait for the whole grace period")
		assert.Empty(t, l.living())
		l.once(syscall.SIGTERM, "bg!", "direct!")
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

// serve is a command that prints its term and runs until it gets a SIGTERM.
const (
	announce = `echo "term $REDLOCK_FENCE."; `
	serve    = `trap 'echo TERM; exit 0' TERM; ` + announce + `while :; do sleep 0.02; done`
)

// terms waits until the commands of a process have printed n terms.
func (p *process) terms(n int) (all []uint64) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		all = nil
		for _, m := range regexp.MustCompile(`term (\d+)\.`).FindAllStringSubmatch(p.stdout.String(), -1) {
			term, err := strconv.ParseUint(m[1], 10, 64)
			assert.NoError(p.t, err)
			all = append(all, term)
		}
		return len(all) >= n
	}, 2*patience, 5*time.Millisecond, "stderr: %v", &p.stderr)
	return all
}

// lose has another client take the name from its holder.
func lose(masters []*redlocktest.Master, ttl time.Duration) {
	for _, m := range masters {
		m.Hold("name", ttl)
	}
}

func TestLeadCampaignsAgainAfterALoss(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	p := launch(t, masters, "lead", "--ttl", "5s", "name", "--", "sh", "-c", serve)
	p.terms(1)
	lose(masters, 6*time.Second) // above the TTL
	terms := p.terms(2)
	assert.Less(t, terms[0], terms[1])
	assert.Equal(t, 1, strings.Count(p.stdout.String(), "TERM"), "the first command was stopped")
	assert.Contains(t, p.stderr.String(), "stopping the command")
	assert.Contains(t, p.stderr.String(), "campaigning again")
	p.signal(syscall.SIGTERM)
	assert.Equal(t, 0, p.wait(), "the second command handles it")
	assert.True(t, free(t, masters, "name"), "it has resigned")
}

// The command does not end at SIGTERM, so the loss comes while it runs.
func TestASignalAndALossEndLead(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]bool{
		"first the loss":   false,
		"first the signal": true,
	}, func(t *testing.T, signalFirst bool) {
		masters := redlocktest.Start(t, 3)
		p := launch(t, masters, "lead", "--ttl", "5s", "--grace", "3s", "name", "--", "sh", "-c",
			`trap "echo TERM" TERM; `+announce+`while :; do sleep 0.02; done`)
		p.terms(1)
		if signalFirst {
			p.signal(syscall.SIGTERM)
			p.says("TERM")
		}
		lose(masters, 6*time.Second) // above the TTL
		p.await("stopping", &p.stderr)
		if !signalFirst {
			p.signal(syscall.SIGTERM)
		}
		assert.Equal(t, 70, p.wait())
		assert.Len(t, p.terms(1), 1)
		assert.NotContains(t, p.stderr.String(), "campaigning again")
	})
}
