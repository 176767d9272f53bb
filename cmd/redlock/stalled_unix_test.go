//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

// stalled returns a pipe that is full and that nobody reads.
func stalled(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	require.NoError(t, w.SetWriteDeadline(time.Now().Add(20*time.Millisecond)))
	for size := 4096; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = w.Write(make([]byte, size))
			if err != nil {
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			}
		}
		require.NoError(t, w.SetWriteDeadline(time.Now().Add(5*time.Millisecond)))
	}
	w.Fd() // blocking again, as a shell's pipe is
	return w
}

// unheard starts redlock with a stderr, and perhaps a stdout, that nobody reads.
func unheard(t *testing.T, masters []*redlocktest.Master, stdoutToo bool, args ...string) *process {
	t.Helper()
	return launchWith(t, masters, func(c *exec.Cmd) {
		c.Stderr = stalled(t)
		if stdoutToo {
			c.Stdout = stalled(t)
		}
	}, args...)
}

// A message that nobody reads delays neither the start of the command, nor its end, nor the release.
func TestARunGoesOnAlthoughNobodyReadsItsMessages(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"run": {"run"}, "verbosely": {"run", "-v"}, "lead": {"lead"}, "lead, verbosely": {"lead", "-v"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			masters := redlocktest.Start(t, 3)
			_, end := hold(t, masters, "name")
			p := unheard(t, masters, false, append(args, "name", "--", "echo", "my turn")...)
			time.Sleep(1500 * time.Millisecond) // the line about the wait is due
			end()
			p.says("my turn")
			assert.Equal(t, 0, p.wait())
			n, _ := votes(t, masters, "name")
			assert.Zero(t, n)
		})
	}
}

func TestASignalEndsTheWaitAlthoughNobodyReadsItsMessages(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	hold(t, masters, "name")
	p := unheard(t, masters, false, "run", "-v", "name", "--", "true")
	time.Sleep(1500 * time.Millisecond) // the line about the wait is due
	p.signal(syscall.SIGTERM)
	assert.Equal(t, 128+15, p.wait())
}

// A loss ends the command. See TestALossIsReportedByTheStatusIfStderrIsClosed for a pipe without a reader.
func TestALossEndsTheCommandAlthoughNobodyReadsOfIt(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	p := unheard(t, masters, false, "run", "-v", "--max-hold", "1s", "name", "--", "sh", "-c",
		`exec 2>/dev/null; trap "echo TERM; exit 1" TERM; while :; do sleep 0.02; done`)
	p.says("TERM")
	assert.Equal(t, 70, p.wait())
	n, _ := votes(t, masters, "name")
	assert.Zero(t, n)
}

// Output that nobody reads does not keep a signal from ending redlock.
func TestOutputThatNobodyReadsCanBeInterrupted(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for name, tc := range map[string]struct {
		args []string
		code int
	}{
		"status":      {[]string{"status"}, 128 + 15},
		"JSON":        {[]string{"status", "--json", "name"}, 128 + 15},
		"doctor JSON": {[]string{"doctor", "--json", "--watch"}, 0},
		"dev":         {[]string{"dev"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := unheard(t, masters, true, tc.args...)
			select {
			case <-p.ended:
				t.Fatal("it has written to a full pipe")
			case <-time.After(500 * time.Millisecond): // it writes, except doctor
			}
			p.signal(syscall.SIGTERM)
			assert.Equal(t, tc.code, p.wait())
		})
	}
}

// Ctrl-S stops the output of a terminal. Ctrl-C still ends redlock.
func TestAStoppedTerminalCanBeInterrupted(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	_, end := hold(t, masters, "name")
	ran := filepath.Join(t.TempDir(), "ran")
	for name, args := range map[string][]string{
		"watch": {"status", "--watch"}, "wait": {"run", "name", "--", "touch", ran},
	} {
		cmd := exec.Command(binary, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "REDLOCK_MASTERS=" + joined(masters)}
		opened, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: columns})
		require.NoError(t, err)
		tty := interruptible(t, opened)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = cmd.Wait()
		}()
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			<-ended
			_ = tty.Close()
		})
		_, err = tty.Read(make([]byte, 1)) // it has begun to draw
		require.NoError(t, err)
		_, err = tty.WriteString("\x13")
		require.NoError(t, err)
		time.Sleep(2500 * time.Millisecond) // it draws again
		if name == "wait" {
			end()
			require.Eventually(t, func() bool { _, err := os.Stat(ran); return err == nil }, patience, 10*time.Millisecond)
			continue
		}
		_ = cmd.Process.Signal(syscall.SIGINT)
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error(name + " still runs")
		}
	}
}
