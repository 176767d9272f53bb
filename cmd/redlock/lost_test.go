//go:build unix

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

// family returns a script for a shell, the child, that starts another one, the grandchild. Each prints its pid and the
// signals that it receives. The stubborn ones continue at TERM.
func family(stubborn ...string) string {
	member := func(who string) string {
		end := "; exit 0"
		if slices.Contains(stubborn, who) {
			end = ""
		}
		return fmt.Sprintf(
			`trap "echo %[1]s heard TERM%[2]s" TERM; echo %[1]s pid $$.; while :; do sleep 0.02; done`, who, end,
		)
	}
	return "sh -c '" + member("grandchild") + "' & " + member("child")
}

var pidLine = regexp.MustCompile(`(\w+) pid (\d+)\.`)

// pids returns the processes of a family that printed their pids.
func (p *process) pids() map[string]int {
	found := map[string]int{}
	for _, m := range pidLine.FindAllStringSubmatch(p.stdout.String(), -1) {
		found[m[1]], _ = strconv.Atoi(m[2])
	}
	return found
}

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

func startFamily(
	t *testing.T, masters []*redlocktest.Master, script string, flags ...string,
) (*process, map[string]int) {
	t.Helper()
	p := launch(t, masters, append(append([]string{"run"}, flags...), "name", "--", "sh", "-c", script)...)
	p.says("grandchild pid")
	p.says("child pid")
	require.Eventually(t, func() bool { return len(p.pids()) == 2 }, patience, time.Millisecond)
	t.Cleanup(func() {
		for _, pid := range p.pids() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	for who, pid := range p.pids() {
		require.True(t, alive(pid), who)
	}
	return p, p.pids()
}

func TestALostLockEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	p, pids := startFamily(t, masters, family(), "--ttl", "5s", "--grace", "1h")

	for _, m := range masters[:3] {
		m.Stop()
	}

	assert.Equal(t, 70, p.wait(), "redlock does not wait for the whole grace period")
	for who, pid := range pids {
		assert.False(t, alive(pid), who)
		assert.Contains(t, p.stdout.String(), who+" heard TERM")
	}
	assert.Contains(t, p.stderr.String(), "lost")
	assert.Contains(t, p.stderr.String(), `"name"`)
}

func TestALostLockKillsProcessesThatIgnoreSIGTERM(t *testing.T) {
	t.Parallel()
	for _, stubborn := range []string{"child", "grandchild"} {
		t.Run(stubborn, func(t *testing.T) {
			t.Parallel()
			masters := redlocktest.Start(t, 5)
			p, pids := startFamily(t, masters, family(stubborn), "--ttl", "5s", "--grace", "3s")
			for _, m := range masters[:3] {
				m.Stop()
			}
			assert.Equal(t, 70, p.wait())
			for who, pid := range pids {
				assert.False(t, alive(pid), who)
				assert.Contains(t, p.stdout.String(), who+" heard TERM")
			}
			assert.Equal(t, stubborn == "child", strings.Contains(p.stderr.String(), "signal 9"), "how COMMAND ended")
		})
	}
}

func TestALostLockEndsACommandThatIsSuspended(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	p, pids := startFamily(t, masters, family(), "--ttl", "5s", "--grace", "1m")
	require.NoError(t, syscall.Kill(-pids["child"], syscall.SIGSTOP))
	for _, m := range masters[:3] {
		m.Stop()
	}
	assert.Equal(t, 70, p.wait())
	for who, pid := range pids {
		assert.False(t, alive(pid), who)
	}
}

func TestMaxHoldIsALoss(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	p, pids := startFamily(t, masters, family(), "--max-hold", "5s")
	assert.Equal(t, 70, p.wait())
	assert.Regexp(t, `^(Terminated\n)*redlock: [^\n]*lost[^\n]*5s \(--max-hold\); stopping the command\n(Terminated\n)*`+
		`redlock: sh ended with status 0\n$`,
		p.stderr.String(), "the loss is reported once, with flags for options")
	assert.Equal(t, 1, strings.Count(p.stderr.String(), `"name"`))
	for who, pid := range pids {
		assert.False(t, alive(pid), who)
	}
	n, _ := votes(t, masters, "name")
	assert.Zero(t, n, "the remaining keys are released")
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

func TestARunThatKeepsItsLockGetsNoSignal(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	masters[0].Stop()
	masters[1].Freeze()
	p := launch(t, masters, "run", "--ttl", "5s", "name", "--", "sh", "-c", "sleep 6; echo done")
	assert.Equal(t, 0, p.wait())
	assert.Equal(t, "done\n", p.stdout.String())
	assert.Empty(t, p.stderr.String())
}

func TestSignalsAreForwardedToTheGroup(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for name, s := range map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Not in the background: such processes of a script ignore SIGINT.
			script := fmt.Sprintf(`trap 'echo child heard; exit 9' %[1]s;
				sh -c 'trap "echo grandchild heard; exit" %[1]s; echo ready; while :; do sleep 0.02; done'`, name)
			p := launch(t, masters, "run", "signal "+name, "--", "sh", "-c", script)
			p.says("ready")
			p.signal(s)
			assert.Equal(t, 9, p.wait(), "the command's own status")
			assert.Contains(t, p.stdout.String(), "child heard\n")
			assert.Contains(t, p.stdout.String(), "grandchild heard\n")
		})
	}
}

func TestAnIgnoredSignalIsNotForwarded(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	p := launchWith(t, masters, func(c *exec.Cmd) {
		c.Args = append([]string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`, binary}, c.Args[1:]...)
		c.Path = "/bin/sh"
	}, "run", "name", "--", "sh", "-c", "echo holding; while :; do sleep 0.02; done")
	p.says("holding")
	p.signal(syscall.SIGHUP)
	time.Sleep(200 * time.Millisecond) // it would have ended
	p.signal(syscall.SIGTERM)
	assert.Equal(t, 128+15, p.wait(), "as under nohup")
}
