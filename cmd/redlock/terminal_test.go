//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

const columns = 70

// screen is a program on a terminal of its own, and what it has shown so far.
type screen struct {
	t     *testing.T
	tty   *os.File
	shown output
	seen  int // how much of it expect has gone past
	ended chan struct{}
	cmd   *exec.Cmd
}

// onTerminal starts a program, redlock or a shell, on a terminal, with redlock in its path.
func onTerminal(t *testing.T, masters []*redlocktest.Master, program ...string) *screen {
	t.Helper()
	args := program[1:]
	if program[0] == binary {
		args = unhurried(args)
	}
	s := &screen{t: t, ended: make(chan struct{}), cmd: exec.Command(program[0], args...)}
	s.cmd.Env = []string{
		"PATH=" + binary[:strings.LastIndex(binary, "/")] + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=dumb",
		"PS1=$ ", "REDLOCK_MASTERS=" + joined(masters),
	}
	opened, err := pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 24, Cols: columns})
	require.NoError(t, err)
	s.tty = interruptible(t, opened)
	go func() {
		defer close(s.ended)
		buf := make([]byte, 4096)
		for {
			n, err := s.tty.Read(buf)
			_, _ = s.shown.Write(buf[:n])
			if err != nil { // no process has the terminal open
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		_ = s.tty.Close() // hangs up on the remaining processes
		<-s.ended
	})
	return s
}

// interruptible returns f as a file whose Close ends a Read. The pty package leaves it in blocking mode.
func interruptible(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.Dup(int(f.Fd()))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	unix.CloseOnExec(fd)
	require.NoError(t, unix.SetNonblock(fd, true))
	return os.NewFile(uintptr(fd), "terminal")
}

// expect waits until more is shown, and that matches pattern; it returns it.
func (s *screen) expect(pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		if at := re.FindStringIndex(s.shown.String()[s.seen:]); at != nil {
			found := s.shown.String()[s.seen+at[0] : s.seen+at[1]]
			s.seen += at[1]
			return found
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("nothing matches %q after the first %d bytes of:\n%q", pattern, s.seen, s.shown.String())
		}
	}
}

func (s *screen) types(keys string) {
	s.t.Helper()
	_, err := s.tty.WriteString(keys)
	require.NoError(s.t, err)
}

func (s *screen) status() int {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("it still runs, having shown:\n%q", s.shown.String())
	}
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

func TestAWaitOnATerminalShowsTheHolder(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	_, end := hold(t, masters, "name")
	token := heldEverywhere(t, masters, "name")
	holder := regexp.QuoteMeta(token[:strings.LastIndex(token, ":")])

	s := onTerminal(t, masters, binary, "run", "name", "--", "echo", "my turn")
	s.expect(`redlock: waiting [\d.]+m?s for name: held by ` + holder)
	s.expect(`\rredlock: waiting \d+(\.\d)?s for name: held by ` + holder + ` for`)
	end()
	s.expect(`my turn\r\n`)
	assert.Equal(t, 0, s.status())

	for drawn := range strings.SplitSeq(s.shown.String(), "\r") {
		assert.Less(t, len([]rune(drawn)), columns, "a line that wraps cannot be redrawn: %q", drawn)
	}
	assert.Regexp(t, `\r +\rmy turn\r\n$`, s.shown.String(), "the line is removed before the command writes")
	assert.NotContains(t, strings.TrimSuffix(s.shown.String(), "my turn\r\n"), "\n", "one line is enough")
}

func TestTheCommandHasTheTerminal(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]string{
		"from its start":     `redlock run name -- sh -c 'echo ask; read x; echo "got $x"'`,
		"when it asks later": `redlock run name -- sh -c 'echo ask; read x </dev/tty; echo "got $x"' </dev/null`,
		"in another one, in a pipe": `redlock run --pass-masters name -- redlock run inner -- ` +
			`sh -c 'echo ask; read x; echo "got $x"' | cat`,
		"but not from its pager": `redlock run name -- sh -c 'echo ask; until [ -e ~/quit ]; do sleep 0.02; done' | ` +
			`{ read a; echo "$a"; read x </dev/tty; echo "got $x"; touch ~/quit; }`,
	}, func(t *testing.T, run string) {
		s := onTerminal(t, redlocktest.Start(t, 3), "sh", "-c", run+`; echo "status $?"; read y; echo "back $y"`)
		s.expect(`ask`)
		s.types("one\n")
		s.expect(`got one`)
		s.expect(`status 0`)
		s.types("two\n")
		s.expect(`back two`) // the shell has it again
		assert.Equal(t, 0, s.status())
	})
}

// jobShell is an interactive shell with job control.
func jobShell(t *testing.T, masters []*redlocktest.Master) *screen {
	t.Helper()
	s := onTerminal(t, masters, "bash", "--norc", "--noprofile", "-i")
	s.expect(`\$ `)
	return s
}

func TestAJobInTheBackgroundStopsForTheTerminal(t *testing.T) {
	t.Parallel()
	s := jobShell(t, redlocktest.Start(t, 3))
	s.types("redlock run --ttl 1m name -- sh -c 'read x; echo got $x' &\n")
	s.expect(`\$ `)
	require.Eventually(t, func() bool {
		s.types("jobs\n")
		return strings.Contains(s.shown.String()[s.seen:], "Stopped")
	}, patience, 50*time.Millisecond, "%v", &s.shown)
	s.types("fg\n")
	s.expect(`redlock run[^\n]*\n`)
	s.types("one\n")
	s.expect(`got one\r\n`)
	s.types("exit\n")
	s.status()
}

// A suspended redlock does not extend its lock, so the lock is lost. The command must not continue.
func TestACommandWhoseLockWasLostWhileSuspendedIsEnded(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	s := jobShell(t, masters)
	// It forks nothing: a shell that is stopped while it does so may hang until it is resumed, under any parent.
	s.types("redlock run --ttl 4s name -- bash -c 'while :; do echo ti''ck; read -t 0.005; done'\n")
	s.expect(`tick\r\n`)
	s.types("\x1a")
	s.expect(`Stopped`)
	require.Eventually(t, func() bool { return free(t, masters, "name") }, patience, 20*time.Millisecond,
		"the lock ends by itself")
	s.types("fg\n")
	s.expect(`fg\r\nredlock run[^\n]*\n`)
	assert.NotContains(t, s.expect(`(?s).*was lost`), "tick")
	assert.NotContains(t, s.expect(`(?s).*\$ `), "tick")
	s.types("echo status $?\n")
	s.expect(`status 70\r\n`)
	s.types("exit\n")
	s.status()
}

func TestAKilledCommandLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	s := onTerminal(
		t, masters, "sh", "-c",
		`redlock run --max-hold 5s --grace 0 name -- sh -c "stty -echo; stty -a; sleep 100"; stty -a`,
	)
	s.expect(`[ ;]-echo[ ;]`)
	s.expect(`was lost`)
	s.expect(`[ ;]echo[ ;]`)
	assert.Equal(t, 0, s.status())
}

func TestWatchRefreshesTheMasters(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	s := onTerminal(t, masters, binary, "status", "--watch")
	s.expect(`\x1b\[H\d\d:\d\d:\d\d, refreshed every 2s, Ctrl-C ends`)
	s.expect(`MASTER +REACHABLE`)
	s.expect(`3 of 3 may vote`)
	masters[0].Stop()
	s.expect(`\x1b\[H[^\x00]*2 of 3 may vote`)
	s.expect(`connection refused`)
	masters[1].Stop()
	s.expect(`redlock: no majority of the masters may vote`)
	masters[0].Start()
	masters[1].Start()
	s.expect(`restarted within the restart window`)
	s.types("\x03")
	assert.Equal(t, 0, s.status())
}

func TestWatchEndsWithAWrongUsage(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, redlocktest.Start(t, 3), binary, "status", "--watch", "redlock:fence:x")
	s.expect(`redlock:fence:`)
	assert.Equal(t, 64, s.status())
}

func TestDoctorRefreshesItsFindings(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, redlocktest.Start(t, 3), binary, "doctor", "--watch")
	s.expect(`\x1b\[H\d\d:\d\d:\d\d, refreshed every 20s, Ctrl-C ends`)
	s.expect(`(NOTE|WARNING|DANGER)  `) // of a busy machine
	s.types("\x03")
	assert.Equal(t, 0, s.status())
}
