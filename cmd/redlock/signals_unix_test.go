//go:build unix

package main_test

import (
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/redlock-go/redlock/internal/testmain"
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

// Once also if the signal was sent to the group of redlock, as kill %1 does in a shell.
func TestEverySignalReachesTheGroupOnce(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]int{"to redlock": 1, "to its group": -1}, func(t *testing.T, sign int) {
		masters := redlocktest.Start(t, 3)
		l := startListeners(t, masters, withoutTerminal, "run", "bg*", "direct*")
		signals := append(forwarded(), syscall.SIGTERM)
		for _, s := range signals {
			require.NoError(t, syscall.Kill(sign*l.cmd.Process.Pid, s))
			l.hear(s)
		}
		assert.Equal(t, 0, l.wait(), "the command's own")
		l.end()
		for _, s := range signals {
			l.once(s)
		}
		assert.Empty(t, l.stderr.String())
		assert.True(t, free(t, masters, "name"), "unlocked")
	})
}

// A signal that would end a program ends the wait for the lock. The others do not.
func TestWhichSignalsEndTheWait(t *testing.T) {
	t.Parallel()
	masters, down := redlocktest.Start(t, 3), redlocktest.Start(t, 3)
	_, end := hold(t, masters, "name")
	stopAll(down)
	waits := func(masters []*redlocktest.Master) *process {
		return launchWith(t, masters, withoutTerminal, "run", "name", "--", "echo", "my turn")
	}
	patient, ended := waits(masters), map[syscall.Signal]*process{unix.SIGTERM: waits(down)}
	for _, s := range []syscall.Signal{unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR2, unix.SIGALRM} {
		ended[s] = waits(masters)
	}
	patient.await("redlock: waiting", &patient.stderr)
	for _, s := range []syscall.Signal{unix.SIGWINCH, unix.SIGCONT, unix.SIGTSTP} {
		patient.signal(s)
	}
	for s, p := range ended {
		p.await("redlock: waiting", &p.stderr)
		p.signal(s)
		assert.Equal(t, 128+int(s), p.wait())
		assert.Empty(t, p.stdout.String())
		assert.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), "%v, no dump: %s", s, &p.stderr)
	}
	end()
	assert.Equal(t, 0, patient.wait())
	assert.Equal(t, "my turn\n", patient.stdout.String())
}

// The hangup of a terminal ends a run and its command. Under nohup both continue.
func TestARunUnderNohupOutlivesItsTerminal(t *testing.T) {
	t.Parallel()
	type testCase struct {
		nohup string
		goOn  bool
	}
	testmain.Each(t, map[string]testCase{
		"nohup": {"nohup ", true},
		"plain": {"", false},
	}, func(t *testing.T, tc testCase) {
		masters := redlocktest.Start(t, 3)
		l := newListeners(t, "bg", "direct!")
		s := onTerminal(t, masters, "bash", "--norc", "--noprofile", "-c", l.begin+"cd "+t.TempDir()+"; "+tc.nohup+
			"redlock run --ttl 5s name -- bash -c '"+l.start+"'")
		l.listen()
		require.NoError(t, s.tty.Close())
		<-s.ended
		_ = s.cmd.Process.Signal(syscall.SIGHUP) // as a session's leader does
		if !tc.goOn {
			l.hear(syscall.SIGHUP)
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

// A command that a background process of a script starts inherits the ignored SIGINT and SIGHUP.
func TestTheCommandIgnoresTheSignalsThatRedlockIgnores(t *testing.T) {
	t.Parallel()
	p := launchWith(t, redlocktest.Start(t, 3), after("trap '' HUP INT"), "run", "name", "--", "sh", "-c",
		"kill -HUP $$; kill -INT $$; echo alive")
	assert.Equal(t, result{0, "alive\n", ""}, p.result())
}

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

func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Many programs exit at a second SIGTERM without cleaning up. The listeners do not end at the first one, so that they
// would receive a second. A loss and a signal also end lead.
func TestALossAndASignalAreOneSIGTERM(t *testing.T) {
	t.Parallel()
	type testCase struct {
		command     string
		signalFirst bool
	}
	testmain.Each(t, map[string]testCase{
		"run, first the loss":    {"run", false},
		"run, first the signal":  {"run", true},
		"lead, first the loss":   {"lead", false},
		"lead, first the signal": {"lead", true},
	}, func(t *testing.T, tc testCase) {
		l := startListeners(t, redlocktest.Start(t, 3), nil, tc.command+" --max-hold 5s --grace 2s", "bg", "direct")
		if tc.signalFirst {
			l.signal(syscall.SIGTERM)
		}
		l.hear(syscall.SIGTERM)
		if !tc.signalFirst {
			l.signal(syscall.SIGTERM)
			l.signal(syscall.SIGINT)
		}
		assert.Equal(t, 70, l.wait())
		assert.Empty(t, l.living())
		assert.Contains(t, l.stderr.String(), "signal 9", "how the command ended")
		assert.NotContains(t, l.stderr.String(), "campaigning again")
		l.once(syscall.SIGTERM)
		if !tc.signalFirst {
			l.once(syscall.SIGINT, "bg") // another signal is passed on
		}
	})
}

// A user who signals twice may mean it: the second signal is forwarded, too.
func TestTwoSignalsAreBothForwarded(t *testing.T) {
	t.Parallel()
	l := startListeners(t, redlocktest.Start(t, 3), nil, "run", "direct")
	for n := 1; n <= 2; n++ {
		l.signal(syscall.SIGTERM)
		require.Eventually(t, func() bool { return l.received("direct", syscall.SIGTERM) == n }, patience, time.Millisecond)
	}
}

// The terminal sends a signal to the group in the foreground: to the command, or to redlock, which forwards it.
func TestASignalOfTheTerminalIsReceivedOnce(t *testing.T) {
	t.Parallel()
	type testCase struct {
		stdin, keys string
		signal      syscall.Signal
	}
	testmain.Each(t, map[string]testCase{
		"Ctrl-C":                      {"", "\x03", syscall.SIGINT},
		"Ctrl-C, with another stdin":  {"</dev/null", "\x03", syscall.SIGINT},
		"Ctrl-\\":                     {"", "\x1c", syscall.SIGQUIT},
		"Ctrl-\\, with another stdin": {"</dev/null", "\x1c", syscall.SIGQUIT},
		"resized":                     {"", "", syscall.SIGWINCH},
		"resized, another stdin":      {"</dev/null", "", syscall.SIGWINCH},
	}, func(t *testing.T, tc testCase) {
		l := newListeners(t, "direct*")
		s := onTerminal(t, redlocktest.Start(t, 3), "sh", "-c",
			l.begin+"exec redlock run name -- sh -c '"+l.start+"' "+tc.stdin)
		l.listen()
		if tc.keys != "" {
			s.types(tc.keys)
		} else {
			require.NoError(t, pty.Setsize(s.tty, &pty.Winsize{Rows: 25, Cols: columns}))
		}
		l.hear(tc.signal)
		require.NoError(t, syscall.Kill(l.pids()["direct*"], syscall.SIGTERM)) // follows a second one, if there is one
		assert.Equal(t, 0, s.status())
		l.once(tc.signal)
	})
}

// The shell resumes redlock, which resumes the command once.
func TestFgResumesTheCommandOnce(t *testing.T) {
	t.Parallel()
	l := newListeners(t, "bg*")
	s := jobShell(t, redlocktest.Start(t, 3))
	// The listener catches SIGTSTP; the shell that started it stops, and with it redlock.
	s.types(l.begin + "redlock run --ttl 1m name -- sh -c '" + l.start +
		`read x; echo "got $x"; kill $!; wait $!'` + "\n")
	l.listen()
	s.types("\x1a")
	s.expect(`Stopped`)
	s.types("echo the shell is ba''ck\n")
	s.expect(`the shell is back\r\n`)
	s.types("fg\n")
	l.hear(syscall.SIGCONT)
	s.types("one\n")
	s.expect(`got one\r\n\$ `)
	l.once(syscall.SIGCONT)
	s.types("exit\n")
	s.status()
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
