//go:build unix

package main_test

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	require.NoError(t, err)
	return n
}

// printed waits for the number that the command prints. The command may have written to files before the test has it.
func (p *process) printed() int {
	p.t.Helper()
	p.says("\n")
	return number(p.t, p.stdout.String())
}

// Many programs exit at a second SIGTERM without cleaning up.
func TestTheCommandReceivesSIGTERMOnce(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(l *listeners){
		"redlock is signaled": func(l *listeners) { l.signal(syscall.SIGTERM) },
		"redlock's group is signaled": func(l *listeners) {
			assert.NoError(l.t, syscall.Kill(-l.cmd.Process.Pid, syscall.SIGTERM))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startListeners(t, redlocktest.Start(t, 3), ownGroup, []string{"--max-hold", "1m"},
				as(background, "bg!")+as(direct, "direct!"), "bg!", "direct!")
			ask(l)
			assert.Equal(t, 0, l.wait())
			assert.Eventually(t, func() bool { return len(l.living()) == 0 }, patience, 5*time.Millisecond)
			assert.Equal(t, 1, l.received("bg!", syscall.SIGTERM))
			assert.Equal(t, 1, l.received("direct!", syscall.SIGTERM))
		})
	}
}

func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The listeners do not end at SIGTERM here, so they would receive a second one.
func TestALossAndASignalAreOneSIGTERM(t *testing.T) {
	t.Parallel()
	received := func(l *listeners) func() bool {
		return func() bool { return l.received("bg", syscall.SIGTERM) > 0 && l.received("direct", syscall.SIGTERM) > 0 }
	}
	for name, signalFirst := range map[string]bool{"first the loss": false, "first the signal": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startListeners(t, redlocktest.Start(t, 3), nil, []string{"--max-hold", "5s", "--grace", "1s"},
				as(background, "bg")+as(direct, "direct"), "bg", "direct")
			if signalFirst {
				l.signal(syscall.SIGTERM)
			}
			require.Eventually(t, received(l), patience, time.Millisecond)
			if !signalFirst {
				l.signal(syscall.SIGTERM)
				l.signal(syscall.SIGINT)
			}
			assert.Equal(t, 70, l.wait())
			assert.Empty(t, l.living())
			assert.Contains(t, l.stderr.String(), "signal 9", "how the command ended")
			assert.Equal(t, 1, l.received("bg", syscall.SIGTERM))
			assert.Equal(t, 1, l.received("direct", syscall.SIGTERM))
			if !signalFirst {
				assert.Equal(t, 1, l.received("direct", syscall.SIGINT), "another signal is passed on")
			}
		})
	}
}

// A user who signals twice may mean it: the second signal is forwarded, too.
func TestTwoSignalsAreBothForwarded(t *testing.T) {
	t.Parallel()
	l := startListeners(t, redlocktest.Start(t, 3), nil, nil, as(direct, "direct"), "direct")
	for n := 1; n <= 2; n++ {
		l.signal(syscall.SIGTERM)
		require.Eventually(t, func() bool { return l.received("direct", syscall.SIGTERM) == n }, patience, time.Millisecond)
	}
}

// The terminal sends a signal to the group in the foreground: to the command, or to redlock, which forwards it.
func TestASignalOfTheTerminalIsReceivedOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stdin, keys string
		signal      syscall.Signal
	}{
		"Ctrl-C":                      {"", "\x03", syscall.SIGINT},
		"Ctrl-C, with another stdin":  {"</dev/null", "\x03", syscall.SIGINT},
		"Ctrl-\\":                     {"", "\x1c", syscall.SIGQUIT},
		"Ctrl-\\, with another stdin": {"</dev/null", "\x1c", syscall.SIGQUIT},
		"resized":                     {"", "", syscall.SIGWINCH},
		"resized, another stdin":      {"</dev/null", "", syscall.SIGWINCH},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &listeners{file: t.TempDir() + "/received"}
			s := onTerminal(t, redlocktest.Start(t, 3), "sh", "-c", "export "+listenerFile+"="+l.file+" L="+testBinary+
				"; exec redlock run name -- sh -c '"+as(direct, "direct*")+"' "+tc.stdin)
			require.Eventually(t, func() bool { return l.pids()["direct*"] > 0 }, patience, time.Millisecond)
			if tc.keys != "" {
				s.types(tc.keys)
			} else {
				require.NoError(t, pty.Setsize(s.tty, &pty.Winsize{Rows: 25, Cols: columns}))
			}
			require.Eventually(t, func() bool { return l.received("direct*", tc.signal) > 0 }, patience, time.Millisecond)
			require.NoError(t, syscall.Kill(l.pids()["direct*"], syscall.SIGTERM)) // follows a second one, if there is one
			assert.Equal(t, 0, s.status())
			assert.Equal(t, 1, l.received("direct*", tc.signal))
		})
	}
}

// The command is resumed once when the shell resumes redlock.
func TestFgResumesTheCommandOnce(t *testing.T) {
	t.Parallel()
	l := &listeners{file: t.TempDir() + "/received"}
	s := jobShell(t, redlocktest.Start(t, 3))
	// The listener catches SIGTSTP; the shell that started it stops, and with it redlock.
	s.types("export " + listenerFile + "=" + l.file + " L=" + testBinary +
		"; redlock run --ttl 1m name -- sh -c '" + as(background, "bg*") + " read x; kill $!; wait $!'\n")
	require.Eventually(t, func() bool { return l.pids()["bg*"] > 0 }, patience, time.Millisecond)
	s.types("\x1a")
	s.expect(`Stopped`)
	s.types("fg\n")
	require.Eventually(t, func() bool { return l.received("bg*", syscall.SIGCONT) > 0 }, patience, time.Millisecond)
	s.types("x\n")
	s.expect(`x\r\n\$ `)
	assert.Equal(t, 1, l.received("bg*", syscall.SIGCONT))
	s.types("exit\n")
	s.status()
}
