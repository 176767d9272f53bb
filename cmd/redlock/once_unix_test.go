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
	for name, group := range map[string]bool{"redlock is signaled": false, "redlock's group is signaled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startListeners(t, redlocktest.Start(t, 3), ownGroup, []string{"--max-hold", "1m"},
				as(background, "bg!")+as(direct, "direct!"), "bg!", "direct!")
			pid := l.cmd.Process.Pid
			if group {
				pid = -pid
			}
			require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
			assert.Equal(t, 0, l.wait())
			l.end()
			l.once(syscall.SIGTERM, "bg!", "direct!")
		})
	}
}

func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The listeners do not end at SIGTERM here, so they would receive a second one.
func TestALossAndASignalAreOneSIGTERM(t *testing.T) {
	t.Parallel()
	for name, signalFirst := range map[string]bool{"first the loss": false, "first the signal": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startListeners(t, redlocktest.Start(t, 3), nil, []string{"--max-hold", "5s", "--grace", "1s"},
				as(background, "bg")+as(direct, "direct"), "bg", "direct")
			if signalFirst {
				l.signal(syscall.SIGTERM)
			}
			l.hear(syscall.SIGTERM, "bg", "direct")
			if !signalFirst {
				l.signal(syscall.SIGTERM)
				l.signal(syscall.SIGINT)
			}
			assert.Equal(t, 70, l.wait())
			assert.Empty(t, l.living())
			assert.Contains(t, l.stderr.String(), "signal 9", "how the command ended")
			l.once(syscall.SIGTERM, "bg", "direct")
			if !signalFirst {
				l.once(syscall.SIGINT, "direct") // another signal is passed on
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
			l, begin := listenersFor(t)
			s := onTerminal(t, redlocktest.Start(t, 3), "sh", "-c",
				begin+"exec redlock run name -- sh -c '"+as(direct, "direct*")+"' "+tc.stdin)
			require.Eventually(t, func() bool { return l.pids()["direct*"] > 0 }, patience, time.Millisecond)
			if tc.keys != "" {
				s.types(tc.keys)
			} else {
				require.NoError(t, pty.Setsize(s.tty, &pty.Winsize{Rows: 25, Cols: columns}))
			}
			l.hear(tc.signal, "direct*")
			require.NoError(t, syscall.Kill(l.pids()["direct*"], syscall.SIGTERM)) // follows a second one, if there is one
			assert.Equal(t, 0, s.status())
			l.once(tc.signal, "direct*")
		})
	}
}

// The shell resumes redlock, which resumes the command once.
func TestFgResumesTheCommandOnce(t *testing.T) {
	t.Parallel()
	l, begin := listenersFor(t)
	s := jobShell(t, redlocktest.Start(t, 3))
	// The listener catches SIGTSTP; the shell that started it stops, and with it redlock.
	s.types(begin + "redlock run --ttl 1m name -- sh -c '" + as(background, "bg*") +
		` read x; echo "got $x"; kill $!; wait $!'` + "\n")
	require.Eventually(t, func() bool { return l.pids()["bg*"] > 0 }, patience, time.Millisecond)
	s.types("\x1a")
	s.expect(`Stopped`)
	s.types("echo the shell is ba''ck\n")
	s.expect(`the shell is back\r\n`)
	s.types("fg\n")
	l.hear(syscall.SIGCONT, "bg*")
	s.types("one\n")
	s.expect(`got one\r\n\$ `)
	l.once(syscall.SIGCONT, "bg*")
	s.types("exit\n")
	s.status()
}
