package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

// supervisor returns the pid of the supervisor as soon as it runs. The supervisor needs some milliseconds to start the
// command, so the caller can usually stop redlock or the supervisor before that.
func (p *process) supervisor() (pid int) {
	p.t.Helper()
	children := fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", p.cmd.Process.Pid)
	_, err := os.Stat(children)
	need.SkipIf(p.t, need.Redis, err)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Microsecond) {
		all, _ := os.ReadFile(children)
		for _, child := range strings.Fields(string(all)) {
			line, _ := os.ReadFile("/proc/" + child + "/cmdline")
			if strings.HasPrefix(string(line), "redlock-supervisor\x00") {
				return number(p.t, child)
			}
		}
	}
	p.t.Fatalf("redlock starts no supervisor\nstderr: %s", p.stderr.String())
	return 0
}

// keepStopped stops a process, and stops it again whenever another process has resumed it.
func keepStopped(pid int) {
	for syscall.Kill(pid, syscall.SIGSTOP) == nil {
		time.Sleep(time.Millisecond)
	}
}

// The supervisor knows the end of the lock from the start, and not only from the first report of redlock.
func TestTheCommandEndsIfRedlockIsStoppedAtTheStart(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for n := range 4 { // a stop may come after the first report
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			l := newListeners(t, "direct")
			l.run(masters, nil, "run --ttl 2s --grace 2s --slots 4")
			supervisor := l.supervisor()
			l.signal(syscall.SIGSTOP)
			assert.Eventually(t, func() bool { return !alive(supervisor) }, patience, 5*time.Millisecond)
			assert.Empty(t, l.living())
			l.signal(syscall.SIGCONT)
			assert.Equal(t, 70, l.wait())
			assert.Contains(t, l.stderr.String(), "lost")
		})
	}
}

// stoppedBeforeTheStart returns a redlock that is stopped, with its supervisor, before the command has started, and
// whose lock has ended. The supervisor needs some milliseconds to start the command, so a try may come too late.
func stoppedBeforeTheStart(t *testing.T) (l *listeners, supervisor int) {
	t.Helper()
	for range 10 {
		masters := redlocktest.Start(t, 3)
		l = newListeners(t, "direct")
		l.run(masters, nil, "run --ttl 2s --grace 2s")
		supervisor = l.supervisor()
		l.signal(syscall.SIGSTOP)
		require.NoError(t, syscall.Kill(supervisor, syscall.SIGSTOP))
		require.Eventually(t, func() bool { return free(t, masters, "name") }, patience, 20*time.Millisecond)
		if len(l.pids()) == 0 {
			return l, supervisor
		}
		require.NoError(t, syscall.Kill(supervisor, syscall.SIGCONT))
		l.signal(syscall.SIGCONT)
		l.wait()
	}
	require.Fail(t, "the supervisor always started the command before it was stopped")
	return nil, 0
}

func TestTheCommandIsNotStartedAfterTheEndOfTheLock(t *testing.T) {
	t.Parallel()
	l, supervisor := stoppedBeforeTheStart(t)
	require.NoError(t, syscall.Kill(supervisor, syscall.SIGCONT))
	assert.Eventually(t, func() bool { return !alive(supervisor) }, patience, 5*time.Millisecond)
	assert.Empty(t, l.pids(), "the command was started")
	l.signal(syscall.SIGCONT)
	assert.Equal(t, 70, l.wait())
	assert.Regexp(t, `^redlock: [^\n]*lost[^\n]*; bash was not started[^\n]*\n$`, l.stderr.String())
}

// A supervisor that is stopped cannot end the command. redlock resumes it, and kills it if that does not help.
func TestTheCommandEndsWithTheLockIfItsSupervisorIsStopped(t *testing.T) {
	t.Parallel()
	started := func(l *listeners) (supervisor int) {
		l.listen()
		return l.printed()
	}
	testmain.Each(t, map[string]func(l *listeners){
		"at the start":    func(l *listeners) { go keepStopped(l.supervisor()) },
		"once":            func(l *listeners) { _ = syscall.Kill(started(l), syscall.SIGSTOP) },
		"again and again": func(l *listeners) { go keepStopped(started(l)) },
		"while it gets more signals than it can queue": func(l *listeners) {
			_ = syscall.Kill(started(l), syscall.SIGSTOP)
			for range 1000 {
				_ = l.cmd.Process.Signal(syscall.SIGHUP) // which may have ended, on a busy machine
				time.Sleep(time.Millisecond)             // the kernel merges signals that arrive together
			}
		},
	}, func(t *testing.T, stop func(l *listeners)) {
		l := newListeners(t, "bg", "daemon", "direct")
		l.run(redlocktest.Start(t, 3), nil, "run --max-hold 5s --grace 500ms")
		stop(l)
		assert.Equal(t, 70, l.wait())
		assert.Empty(t, l.living())
		assert.Contains(t, l.stderr.String(), "lost")
	})
}

// A supervisor that is stopped does not see the command end. The lock must not stay taken.
func TestAStoppedSupervisorDoesNotKeepTheLock(t *testing.T) {
	t.Parallel()
	type testCase struct {
		stop  func(p *process)
		codes []int // 7 is the command's own
	}
	testmain.Each(t, map[string]testCase{
		"at the start":    {func(p *process) { _ = syscall.Kill(p.supervisor(), syscall.SIGSTOP) }, []int{7}},
		"once":            {func(p *process) { _ = syscall.Kill(p.printed(), syscall.SIGSTOP) }, []int{7}},
		"again and again": {func(p *process) { go keepStopped(p.printed()) }, []int{7, 128 + 9}},
	}, func(t *testing.T, tc testCase) {
		masters := redlocktest.Start(t, 3)
		r, w, err := os.Pipe()
		require.NoError(t, err)
		// A TTL longer than a supervisor stays stopped: else it may find that the lock has ended.
		p := launchWith(t, masters, func(c *exec.Cmd) { c.Stdin = r }, "run", "--ttl", "10s", "name", "--", "sh", "-c",
			`echo "$PPID"; read x; exit 7`)
		require.NoError(t, r.Close())
		tc.stop(p)
		require.NoError(t, w.Close()) // the command ends
		assert.Contains(t, tc.codes, p.wait())
		assert.True(t, free(t, masters, "name"), "unlocked")
	})
}

// SIGTSTP stops a redlock that waits, with or without a terminal.
func TestARunThatWaitsCanBeStopped(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	_, end := hold(t, masters, "name")
	p := launchWith(t, masters, ownGroup, "run", "name", "--", "echo", "my turn") // the kernel stops no orphaned group
	p.await("redlock: waiting", &p.stderr)
	p.signal(syscall.SIGTSTP)
	require.Eventually(t, func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		return strings.Contains(string(stat), ") T ")
	}, patience, time.Millisecond)
	end()
	p.signal(syscall.SIGCONT)
	assert.Equal(t, 0, p.wait())
	assert.Equal(t, "my turn\n", p.stdout.String())
}

// A command that is stopped keeps its lock, and is resumed by the signal that redlock forwards.
func TestAStoppedCommandKeepsItsLock(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	p := launchWith(t, masters, withoutTerminal, "run", "--ttl", "6s", "name", "--", "sh", "-c",
		`trap "echo resumed; exit 3" CONT; echo "$$"; while :; do sleep 0.02; done`)
	pid := p.printed()
	require.NoError(t, syscall.Kill(-pid, syscall.SIGSTOP))
	left := left(t, masters[0], "name")
	for range 2 { // the lock is extended, again and again
		require.Eventually(t, func() bool { return left() < 4500*time.Millisecond }, patience, time.Millisecond)
		require.Eventually(t, func() bool { return left() > 5*time.Second }, patience, time.Millisecond)
	}
	p.signal(syscall.SIGCONT)
	assert.Equal(t, 3, p.wait())
}
