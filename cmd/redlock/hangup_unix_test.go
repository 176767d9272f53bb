//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

// heedSignals makes the processes that a test starts react to the signals that this process was started to ignore:
// SIGHUP under nohup, SIGINT in the background of a script. A child inherits ignored signals, but not caught ones.
func heedSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
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
			file := t.TempDir() + "/received"
			l := &listeners{file: file}
			s := onTerminal(t, masters, "bash", "--norc", "--noprofile", "-c", "export "+listenerFile+"="+file+" L="+testBinary+
				"; cd "+t.TempDir()+"; "+tc.nohup+"redlock run --ttl 5s name -- bash -c '"+as(background, "bg")+as(
				direct, "direct!",
			)+"'")
			require.Eventually(t, func() bool { return len(l.pids()) == 2 }, patience, time.Millisecond)
			t.Cleanup(func() { _ = syscall.Kill(l.pids()["bg"], syscall.SIGKILL) })
			require.NoError(t, s.tty.Close())
			<-s.ended
			_ = s.cmd.Process.Signal(syscall.SIGHUP) // as a session's leader does
			if !tc.goOn {
				require.Eventually(t, func() bool { return l.received("direct!", syscall.SIGHUP) > 0 }, patience, time.Millisecond)
				_ = syscall.Kill(l.pids()["direct!"], syscall.SIGTERM)
				return
			}
			time.Sleep(6 * time.Second) // more than the TTL
			n, _ := votes(t, masters, "name")
			assert.Equal(t, 3, n, "the lock is extended")
			assert.Len(t, l.living(), 2)
			assert.Zero(t, l.received("direct!", syscall.SIGHUP))
			require.NoError(t, syscall.Kill(l.pids()["direct!"], syscall.SIGTERM))
			require.Eventually(t, func() bool { n, _ := votes(t, masters, "name"); return n == 0 }, patience, 5*time.Millisecond)
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
