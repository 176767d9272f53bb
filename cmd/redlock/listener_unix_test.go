//go:build unix

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

// A listener is this test's binary, run as a command under a lock. It writes every signal that it receives to a file. A
// shell cannot count signals: it merges those that arrive while it waits for another process.
const (
	listenerEnv  = "LISTENER"       // its name; with "!" it ends at SIGTERM, with "*" it receives all signals, too
	listenerFile = "LISTENER_FILE"  // where it writes
	listenerLife = 40 * time.Second // ends one that a failed test left
)

// asHelper is called first. It does not return in a listener.
func asHelper() {
	if name := os.Getenv(listenerEnv); name != "" {
		listen(name)
		os.Exit(0)
	}
}

// heedSignals makes the processes that a test starts react to the signals that this process was started to ignore:
// SIGHUP under nohup, SIGINT in the background of a script. A child inherits ignored signals, but not caught ones.
func heedSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// listen is main of a listener.
func listen(name string) {
	file, err := os.OpenFile(os.Getenv(listenerFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	signals := make(chan os.Signal, 100)
	if strings.HasSuffix(name, "*") {
		signal.Notify(signals) // all
		signal.Reset(syscall.SIGURG)
	} else {
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	}
	fmt.Fprintf(file, "%s pid %d.\n", name, os.Getpid())
	for end := time.After(listenerLife); ; {
		select {
		case s := <-signals:
			fmt.Fprintf(file, "%s received %v.\n", name, s)
			if s == syscall.SIGTERM && strings.ContainsAny(name, "!*") {
				return
			}
		case <-end:
			return
		}
	}
}

// The ways in which a script starts a listener, by its name.
var ways = map[string]string{
	"bg":      `%s "$L" & `,
	"session": `%s setsid "$L" & `,
	"daemon":  `(%s setsid "$L" &); `,
	"direct":  `%s exec "$L"`,
}

// listeners are the listeners of one run.
type listeners struct {
	*process     // nil on a terminal
	t            *testing.T
	names        []string
	file         string
	begin, start string // of a script: its beginning, and what starts the listeners
}

// newListeners returns listeners that the test starts with a script. They are killed with the test.
func newListeners(t *testing.T, names ...string) *listeners {
	t.Helper()
	l := &listeners{t: t, names: names, file: filepath.Join(t.TempDir(), "received")}
	l.begin = "export " + listenerFile + "=" + l.file + " L=" + testBinary + "; "
	for _, name := range names {
		l.start += fmt.Sprintf(ways[strings.TrimRight(name, "!*")], listenerEnv+"="+name)
	}
	t.Cleanup(func() {
		for _, pid := range l.pids() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return l
}

// run starts redlock with args, separated by spaces, and under the lock a shell that prints the pid of its parent and
// starts the listeners.
func (l *listeners) run(masters []*redlocktest.Master, change func(*exec.Cmd), args string) {
	l.t.Helper()
	l.process = launchWith(l.t, masters, change, append(strings.Fields(args), "name", "--", "bash", "-c",
		l.begin+`echo "$PPID"; `+l.start)...)
}

// startListeners runs listeners, and waits until they listen.
func startListeners(
	t *testing.T, masters []*redlocktest.Master, change func(*exec.Cmd), args string, names ...string,
) *listeners {
	t.Helper()
	l := newListeners(t, names...)
	l.run(masters, change, args)
	l.listen()
	return l
}

// listen waits until all listeners listen.
func (l *listeners) listen() {
	l.t.Helper()
	require.Eventually(l.t, func() bool { return len(l.pids()) == len(l.names) }, patience, 5*time.Millisecond,
		"not all of %q listen", l.names)
}

func (l *listeners) written() string {
	all, _ := os.ReadFile(l.file)
	return string(all)
}

func (l *listeners) pids() map[string]int {
	found := map[string]int{}
	for _, m := range regexp.MustCompile(`(\S+) pid (\d+)\.\n`).FindAllStringSubmatch(l.written(), -1) {
		found[m[1]], _ = strconv.Atoi(m[2])
	}
	return found
}

// received returns how often a listener has received a signal.
func (l *listeners) received(name string, s syscall.Signal) int {
	return strings.Count(l.written(), fmt.Sprintf("%s received %v.\n", name, s))
}

// hear waits until each listener has received a signal.
func (l *listeners) hear(s syscall.Signal) {
	l.t.Helper()
	for _, name := range l.names {
		heard := func() bool { return l.received(name, s) > 0 }
		require.Eventually(l.t, heard, patience, time.Millisecond, "%s: %d %v", name, s, s)
	}
}

// once checks that each listener, but those named, has received a signal once.
func (l *listeners) once(s syscall.Signal, except ...string) {
	l.t.Helper()
	for _, name := range l.names {
		if !slices.Contains(except, name) {
			assert.Equal(l.t, 1, l.received(name, s), "%s: %d %v", name, s, s)
		}
	}
}

// end waits until no listener runs.
func (l *listeners) end() {
	l.t.Helper()
	ended := func() bool { return len(l.living()) == 0 }
	assert.Eventually(l.t, ended, patience, 5*time.Millisecond, "%v", l.living())
}

// living are the names of the listeners that still run.
func (l *listeners) living() (names []string) {
	for name, pid := range l.pids() {
		if alive(pid) {
			names = append(names, name)
		}
	}
	return names
}

// alive reports whether a process runs. A zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		_, noProc := os.Stat("/proc/self/stat")
		return !os.IsNotExist(err) || noProc != nil
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
