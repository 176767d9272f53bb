//go:build unix

package main_test

import (
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

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

func TestLeadPassesTheCommandsStatusOn(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for _, status := range []int{0, 7, 70} {
		got := redlock(t, masters, "lead", "name", "--", "sh", "-c", "exit "+strconv.Itoa(status))
		assert.Equal(t, status, got.code)
		assert.Empty(t, got.stderr)
	}
	got := redlock(t, masters, "lead", "name", "--", "/no/such/command")
	assert.Equal(t, 127, got.code)
}

func TestLeadCampaignsAgainAfterALoss(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	p := launch(t, masters, "lead", "--ttl", "5s", "name", "--", "sh", "-c", serve)
	p.terms(1)
	for _, m := range masters {
		m.Hold("name", 6*time.Second) // above the TTL
	}
	terms := p.terms(2)
	assert.Less(t, terms[0], terms[1])
	assert.Equal(t, 1, strings.Count(p.stdout.String(), "TERM"), "the first command was stopped")
	assert.Contains(t, p.stderr.String(), "stopping the command")
	assert.Contains(t, p.stderr.String(), "campaigning again")
	p.signal(syscall.SIGTERM)
	assert.Equal(t, 0, p.wait(), "the second command handles it")
	assert.True(t, free(t, masters, "name"), "it has resigned")
}

func TestTheNextProcessLeadsWhenALeaderEnds(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	first := launch(t, masters, "lead", "name", "--", "sh", "-c", serve)
	term := first.terms(1)[0]
	second := launch(t, masters, "lead", "name", "--", "sh", "-c", serve)
	time.Sleep(200 * time.Millisecond)
	require.Empty(t, second.stdout.String())
	first.signal(syscall.SIGTERM)
	assert.Equal(t, 0, first.wait())
	assert.Less(t, term, second.terms(1)[0])
	second.signal(syscall.SIGTERM)
	assert.Equal(t, 0, second.wait())
}

func TestASignalAfterALossEndsLead(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	p := launch(t, masters, "lead", "--ttl", "5s", "--grace", "1s", "name", "--", "sh", "-c",
		`trap "" TERM; `+announce+`while :; do sleep 0.02; done`)
	p.terms(1)
	for _, m := range masters {
		m.Hold("name", 6*time.Second) // above the TTL
	}
	require.Eventually(
		t, func() bool { return strings.Contains(p.stderr.String(), "stopping") }, patience, time.Millisecond,
	)
	p.signal(syscall.SIGTERM)
	assert.Equal(t, 70, p.wait())
	assert.Len(t, p.terms(1), 1)
	assert.NotContains(t, p.stderr.String(), "campaigning again")
}
