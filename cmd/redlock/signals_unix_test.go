//go:build unix

package main_test

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/redlock-go/redlock/redlocktest"
)

// withoutTerminal starts a redlock in a session of its own.
func withoutTerminal(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// forwarded are the signals that redlock forwards if it has no terminal.
func forwarded() (all []syscall.Signal) {
	for s := syscall.Signal(1); s < 65; s++ {
		own := []syscall.Signal{
			unix.SIGKILL, unix.SIGSTOP, unix.SIGCHLD, unix.SIGPIPE, unix.SIGTTIN, unix.SIGTTOU, unix.SIGURG, unix.SIGTERM,
			unix.SIGPROF, // Go cannot catch it
		}
		if slices.Contains(own, s) || s > 31 && (runtime.GOOS != "linux" || s < 35) {
			continue
		}
		all = append(all, s)
	}
	return all
}

func TestEverySignalReachesTheGroupOnce(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	names := []string{"bg*", "direct*"}
	l := startListeners(t, masters, withoutTerminal, nil, as(background, names[0])+as(direct, names[1]), names...)
	for _, s := range forwarded() {
		l.signal(s)
		l.hear(s, names...)
	}
	l.signal(syscall.SIGTERM)
	assert.Equal(t, 0, l.wait(), "the command's own")
	for _, s := range forwarded() {
		l.once(s, names...)
	}
	assert.Empty(t, l.stderr.String())
	assert.True(t, free(t, masters, "name"), "unlocked")
}

// A signal that ends the command is redlock's status, and the lock is released.
func TestASignalThatTheCommandDoesNotCatch(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for _, s := range []syscall.Signal{unix.SIGQUIT, unix.SIGUSR1, unix.SIGTERM, unix.SIGABRT, unix.SIGSEGV} {
		p := launchWith(t, masters, withoutTerminal, "run", "name", "--", "sh", "-c", "ulimit -c 0; echo runs; exec sleep 40")
		p.says("runs")
		p.signal(s)
		assert.Equal(t, 128+int(s), p.wait())
		assert.Empty(t, p.stderr.String(), "%v", s)
		assert.True(t, free(t, masters, "name"), "%v: unlocked", s)
	}
}

// A signal that would end a program ends the wait for the lock. The others do not.
func TestWhichSignalsEndTheWait(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	_, end := hold(t, masters, "name")
	down := redlocktest.Start(t, 3)
	for _, m := range down {
		m.Stop()
	}
	waits := func(masters []*redlocktest.Master) *process {
		p := launchWith(t, masters, withoutTerminal, "run", "name", "--", "echo", "my turn")
		p.await("redlock: waiting", &p.stderr)
		return p
	}
	patient := waits(masters)
	for _, s := range []syscall.Signal{unix.SIGWINCH, unix.SIGCONT, unix.SIGTSTP} {
		patient.signal(s)
	}
	for _, s := range []syscall.Signal{unix.SIGINT, unix.SIGHUP, unix.SIGTERM, unix.SIGQUIT, unix.SIGUSR2, unix.SIGALRM} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			over := masters
			if s == unix.SIGTERM {
				over = down
			}
			p := waits(over)
			p.signal(s)
			assert.Equal(t, 128+int(s), p.wait())
			assert.Empty(t, p.stdout.String())
			assert.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), "no dump: %s", &p.stderr)
		})
	}
	t.Cleanup(func() {
		end()
		assert.Equal(t, 0, patient.wait())
		assert.Equal(t, "my turn\n", patient.stdout.String())
	})
}

// The hangup of a terminal ends a run and its command. Under nohup both continue.
func TestARunUnderNohupOutlivesItsTerminal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		nohup string
		goOn  bool
	}{"nohup": {"nohup ", true}, "plain": {"", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			masters := redlocktest.Start(t, 3)
			l, begin := listenersFor(t)
			s := onTerminal(t, masters, "bash", "--norc", "--noprofile", "-c", begin+"cd "+t.TempDir()+"; "+tc.nohup+
				"redlock run --ttl 5s name -- bash -c '"+as(background, "bg")+as(direct, "direct!")+"'")
			require.Eventually(t, func() bool { return len(l.pids()) == 2 }, patience, time.Millisecond)
			t.Cleanup(func() { _ = syscall.Kill(l.pids()["bg"], syscall.SIGKILL) })
			require.NoError(t, s.tty.Close())
			<-s.ended
			_ = s.cmd.Process.Signal(syscall.SIGHUP) // as a session's leader does
			if !tc.goOn {
				l.hear(syscall.SIGHUP, "direct!")
				_ = syscall.Kill(l.pids()["direct!"], syscall.SIGTERM)
				return
			}
			time.Sleep(6 * time.Second) // more than the TTL
			n, _ := votes(t, masters, "name")
			assert.Equal(t, 3, n, "the lock is extended")
			assert.Len(t, l.living(), 2)
			assert.Zero(t, l.received("direct!", syscall.SIGHUP))
			require.NoError(t, syscall.Kill(l.pids()["direct!"], syscall.SIGTERM))
			require.Eventually(t, func() bool { return free(t, masters, "name") }, patience, 5*time.Millisecond)
		})
	}
}

// A command that a background process of a script starts inherits the ignored SIGINT and SIGHUP.
func TestTheCommandIgnoresTheSignalsThatRedlockIgnores(t *testing.T) {
	t.Parallel()
	p := launchWith(t, redlocktest.Start(t, 3), func(c *exec.Cmd) {
		c.Args = append([]string{"sh", "-c", `trap '' HUP INT; exec "$0" "$@"`, binary}, c.Args[1:]...)
		c.Path = "/bin/sh"
	}, "run", "name", "--", "sh", "-c", "kill -HUP $$; kill -INT $$; echo alive")
	assert.Equal(t, 0, p.wait())
	assert.Equal(t, "alive\n", p.stdout.String())
}
