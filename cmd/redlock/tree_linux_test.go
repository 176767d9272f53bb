package main_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

// The lock of a killed redlock is not extended, so every process under it must end: also those that the command started
// in the background and those that left its group and session.
func TestTheWholeTreeEndsWithARedlockThatIsKilled(t *testing.T) {
	t.Parallel()
	type testCase struct {
		change func(*exec.Cmd)
		stop   func(redlock, supervisor int) error // before the kill
		group  bool                                // kill the whole group
	}
	testmain.Each(t, map[string]testCase{
		"alone":                {},
		"with its whole group": {change: ownGroup, group: true},
		"while it is suspended": {
			change: ownGroup, stop: func(redlock, _ int) error { return syscall.Kill(-redlock, syscall.SIGSTOP) },
		},
		// The kernel resumes the supervisor when redlock dies.
		"while its supervisor is stopped": {
			stop: func(_, supervisor int) error { return syscall.Kill(supervisor, syscall.SIGSTOP) },
		},
	}, func(t *testing.T, tc testCase) {
		l := startListeners(t, redlocktest.Start(t, 3), tc.change, "run --grace 2s", "bg", "session", "daemon", "direct")
		pid := l.cmd.Process.Pid
		if tc.stop != nil {
			require.NoError(t, tc.stop(pid, l.printed()))
		}
		if tc.group {
			pid = -pid
		}
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		l.end()
		l.once(syscall.SIGTERM, "session")
		assert.Zero(t, l.received("session", syscall.SIGTERM), "its parent lives and may forward the signal")
	})
}

// A process that left the group gets one SIGTERM when its parent has ended, and has the rest of the grace period to
// end.
func TestProcessesOutsideTheGroupMayEndThemselves(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]string{"killed": "", "lost": " --max-hold 5s"}, func(t *testing.T, flag string) {
		l := startListeners(t, redlocktest.Start(t, 3), nil, "run --grace 1m"+flag, "session!", "daemon!", "direct!")
		if flag == "" {
			l.signal(syscall.SIGKILL)
			l.end()
		} else {
			assert.Equal(t, 70, l.wait())
			assert.Empty(t, l.living(), "redlock waits for them")
		}
		l.once(syscall.SIGTERM)
	})
}

// The supervisor between redlock and the command can be killed as well. Then redlock ends what the command started.
func TestTheWholeTreeEndsWithASupervisorThatIsKilled(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	l := startListeners(t, masters, nil, "run --grace 2s", "bg", "session", "daemon", "direct!")
	require.NoError(t, syscall.Kill(l.printed(), syscall.SIGKILL))
	assert.Equal(t, 128+9, l.wait(), "the command could not finish, although it exits with 0 at SIGTERM")
	assert.Empty(t, l.living())
	assert.Contains(t, l.stderr.String(), "supervisor")
	assert.True(t, free(t, masters, "name"), "unlocked")
}

// After "agent & exec redlock", redlock is the parent of a process that it has not started.
func TestProcessesFromBeforeRedlockAreSpared(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plain, []byte("true\n"), 0o700))
	testmain.Each(t, map[string]bool{
		"the command cannot be executed": false,
		"the supervisor is killed":       true,
	}, func(t *testing.T, killed bool) {
		agent, l := newListeners(t, "bg"), newListeners(t, "direct!")
		command, code := []string{plain}, 126
		if killed {
			command, code = []string{"bash", "-c", l.begin + `echo "$PPID"; ` + l.start}, 128+9
		}
		running := `until [ -s "$LISTENER_FILE" ]; do sleep 0.01; done`
		l.process = launchWith(t, redlocktest.Start(t, 3), after(agent.begin+agent.start+running),
			append([]string{"run", "--grace", "1m", "name", "--"}, command...)...)
		if killed {
			l.listen() // so the supervisor has reported that it started the command
			require.NoError(t, syscall.Kill(l.printed(), syscall.SIGKILL))
		}
		assert.Equal(t, code, l.wait(), l.stderr.String())
		assert.Empty(t, l.living())
		assert.Len(t, agent.living(), 1)
		assert.Zero(t, agent.received("bg", syscall.SIGTERM))
	})
}

// A redlock that is stopped, as by Ctrl-Z when stdin is no terminal, does not notice that it lost the lock. The
// supervisor does not know of an extension right before that, so it may end the command of a lock that is still held.
// Such a command could not finish either.
func TestACommandEndedForAStoppedRedlockHasNotSucceeded(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 1)
	l := startListeners(t, masters, nil, "run --ttl 6s", "bg!", "daemon!", "direct!")
	left := left(t, masters[0], "name")
	before := left()
	require.Eventually(t, func() bool {
		now := left()
		extended := now > before+500*time.Millisecond
		before = now
		return extended
	}, patience, time.Millisecond)
	time.Sleep(50 * time.Millisecond) // redlock reads the reply, and most likely reports nothing yet
	l.signal(syscall.SIGSTOP)
	l.end()
	l.once(syscall.SIGTERM)
	l.signal(syscall.SIGCONT)
	assert.Equal(t, 70, l.wait())
	assert.Regexp(t, "the lock could have been lost|the lock was lost", l.stderr.String())
	assert.Negative(t, left(), "unlocked")
}

// The inner of two nested runs forwards the SIGTERM of the outer one to its command, which receives it once.
func TestARunWithinAKilledRunReceivesSIGTERMOnce(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	l := newListeners(t, "bg!", "direct!")
	l.process = launch(t, masters, "run", "--pass-masters", "name", "--", "bash", "-c",
		l.begin+binary+" run inner -- bash -c '"+l.start+"'; exit 7")
	l.listen()
	l.signal(syscall.SIGKILL)
	l.end()
	l.once(syscall.SIGTERM)
	assert.Eventually(
		t, func() bool { return free(t, masters, "inner") }, patience, 5*time.Millisecond, "the inner one unlocked",
	)
}

// Processes that the command leaves in the background when it ends are not covered by the lock.
func TestBackgroundProcessesOutliveTheCommand(t *testing.T) {
	t.Parallel()
	l := newListeners(t, "bg", "daemon")
	l.process = launch(t, redlocktest.Start(t, 3), "run", "name", "--", "bash", "-c", l.begin+l.start+
		`while ! grep -q bg "$LISTENER_FILE" || ! grep -q daemon "$LISTENER_FILE"; do sleep 0.01; done; exit 3`)
	assert.Equal(t, 3, l.wait())
	assert.Len(t, l.living(), 2)
}

// The command gets the descriptors that redlock inherited, under the same numbers.
func TestTheCommandInheritsDescriptorsAndNoOthers(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	const script = "echo through three >&3; ls /proc/self/fd"
	plain := exec.Command("sh", "-c", script)
	plain.ExtraFiles = []*os.File{w}
	want, err := plain.Output()
	require.NoError(t, err)
	p := launchWith(t, redlocktest.Start(t, 3), func(c *exec.Cmd) { c.ExtraFiles = plain.ExtraFiles },
		"run", "name", "--", "sh", "-c", script)
	require.NoError(t, w.Close())
	assert.Equal(t, 0, p.wait(), p.stderr.String())
	assert.Equal(t, string(want), p.stdout.String())
	through, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.Equal(t, "through three\nthrough three\n", string(through))
}

// redlock may be killed at any moment, even while it starts the command. No process that it started may remain.
func TestARedlockThatIsKilledAtAnyMomentLeavesNothing(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for n := range 24 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			// All of them inherit the pipe. Its end is reached when the last of them has ended.
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer r.Close()
			l := newListeners(t, "bg", "daemon", "direct")
			p := launchWith(t, masters, func(c *exec.Cmd) { c.ExtraFiles = []*os.File{w} }, "run", "--grace", "100ms", t.Name(),
				"--", "bash", "-c", l.begin+l.start)
			require.NoError(t, w.Close())
			time.Sleep(time.Duration(n) * 4 * time.Millisecond) // a random moment of its work
			p.signal(syscall.SIGKILL)
			require.NoError(t, r.SetReadDeadline(time.Now().Add(patience)))
			_, err = r.Read(make([]byte, 1))
			assert.ErrorIs(t, err, io.EOF, "something still runs")
		})
	}
}

// The last resort: if redlock and its supervisor are killed together, the kernel sends the command SIGTERM.
func TestTheCommandEndsIfRedlockAndItsSupervisorAreKilled(t *testing.T) {
	t.Parallel()
	l := startListeners(t, redlocktest.Start(t, 3), nil, "run", "direct!")
	l.signal(syscall.SIGSTOP) // or it would do it
	require.NoError(t, syscall.Kill(l.printed(), syscall.SIGKILL))
	l.signal(syscall.SIGKILL)
	l.end()
	assert.Positive(t, l.received("direct!", syscall.SIGTERM))
}

// The command must be in the foreground from its start: shells require it to read from the terminal.
func TestTheCommandStartsInTheForeground(t *testing.T) {
	t.Parallel()
	// The group of the process, and the terminal's.
	s := onTerminal(t, redlocktest.Start(t, 1), binary, "run", "name", "--", "cut", "-d ", "-f5,8", "/proc/self/stat")
	assert.Equal(t, 0, s.status())
	groups := strings.Fields(s.shown.String())
	require.Len(t, groups, 2)
	assert.Equal(t, groups[0], groups[1])
}
