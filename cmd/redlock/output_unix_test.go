//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testmain"
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
	testmain.Each(t, map[string][]string{
		"run": {"run"}, "verbosely": {"run", "-v"}, "lead": {"lead"}, "lead, verbosely": {"lead", "-v"},
	}, func(t *testing.T, args []string) {
		masters := redlocktest.Start(t, 3)
		_, end := hold(t, masters, "name")
		p := unheard(t, masters, false, append(args, "name", "--", "echo", "my turn")...)
		time.Sleep(1500 * time.Millisecond) // the line about the wait is due
		end()
		p.says("my turn")
		assert.Equal(t, 0, p.wait())
		assert.True(t, free(t, masters, "name"))
	})
}

// A loss ends the command. See TestALossIsReportedByTheStatusIfStderrIsClosed for a pipe without a reader.
func TestALossEndsTheCommandAlthoughNobodyReadsOfIt(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	p := unheard(t, masters, false, "run", "-v", "--max-hold", "4s", "name", "--", "sh", "-c",
		`exec 2>/dev/null; trap "echo TERM; exit 1" TERM; while :; do sleep 0.02; done`)
	p.says("TERM")
	assert.Equal(t, 70, p.wait())
	assert.True(t, free(t, masters, "name"))
}

// Output that nobody reads does not keep a signal from ending redlock.
func TestOutputThatNobodyReadsCanBeInterrupted(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	type testCase struct {
		args []string
		code int
	}
	testmain.Each(t, map[string]testCase{
		"status":      {[]string{"status"}, 128 + 15},
		"JSON":        {[]string{"status", "--json", "name"}, 128 + 15},
		"doctor JSON": {[]string{"doctor", "--json", "--watch"}, 0},
		"dev":         {[]string{"dev"}, 0},
	}, func(t *testing.T, tc testCase) {
		p := unheard(t, masters, true, tc.args...)
		select {
		case <-p.ended:
			t.Fatal("it has written to a full pipe")
		case <-time.After(2 * time.Second): // it catches signals and writes, except doctor
		}
		p.signal(syscall.SIGTERM)
		assert.Equal(t, tc.code, p.wait())
	})
}

// Ctrl-S stops the output of a terminal. Ctrl-C still ends redlock.
func TestAStoppedTerminalCanBeInterrupted(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	_, end := hold(t, masters, "name")
	ran := filepath.Join(t.TempDir(), "ran")
	stopped := func(args ...string) *screen {
		s := onTerminal(t, masters, append([]string{binary}, args...)...)
		s.expect(`name: held by`)
		s.types("\x13")
		return s
	}
	watch, wait := stopped("status", "--watch", "name"), stopped("run", "name", "--", "touch", ran)
	time.Sleep(2500 * time.Millisecond) // they draw again
	_ = watch.cmd.Process.Signal(syscall.SIGINT)
	assert.Equal(t, 0, watch.status())
	end()
	require.Eventually(t, func() bool { _, err := os.Stat(ran); return err == nil }, patience, 10*time.Millisecond)
	wait.types("\x11")
	assert.Equal(t, 0, wait.status())
}

// A script must not take an empty file for an answer.
func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	readOnly, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer readOnly.Close()
	masters := redlocktest.Start(t, 3)
	for _, args := range [][]string{
		{"status"},
		{"status", "--json", "name"},
		{"doctor", "--watch", "--json", "--without-restart-guard"}, // of which it warns
	} {
		got := launchWith(t, masters, func(c *exec.Cmd) { c.Stdout = readOnly }, args...).result()
		got.fails(t, 74, "redlock: the output could not be written: ")
	}
}

// The reader of stderr has ended, as with "2>&1 | head".
func TestALossIsReportedByTheStatusIfStderrIsClosed(t *testing.T) {
	t.Parallel()
	type testCase struct {
		flag, command string
		want          int
	}
	testmain.Each(t, map[string]testCase{
		"lost":    {"--max-hold=300ms", "sleep 30", 70},
		"verbose": {"-v", "exit 7", 7},
	}, func(t *testing.T, tc testCase) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		p := launchWith(t, redlocktest.Start(t, 3), func(c *exec.Cmd) { c.Stderr = w }, "run", tc.flag, "name", "--",
			"sh", "-c", tc.command)
		require.NoError(t, w.Close())
		assert.Equal(t, tc.want, p.wait())
	})
}
