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

// listeners are the listeners of one run.
type listeners struct {
	*process // nil on a terminal
	t        *testing.T
	file     string
}

// listenersFor returns the listeners of a script, and the beginning of the script, after which "$L" starts one.
func listenersFor(t *testing.T) (l *listeners, script string) {
	t.Helper()
	l = &listeners{t: t, file: filepath.Join(t.TempDir(), "received")}
	return l, "export " + listenerFile + "=" + l.file + " L=" + testBinary + "; "
}

// The ways in which a script starts a listener.
const (
	background = `%s "$L" & `
	ownSession = `%s setsid "$L" & `
	daemon     = `(%s setsid "$L" &); `
	direct     = `%s exec "$L"`
)

// as is the part of a script that starts a listener called name.
func as(way, name string) string { return fmt.Sprintf(way, listenerEnv+"="+name) }

// startListeners runs a script under a lock, in which "$L" starts a listener, and waits until those named listen.
func startListeners(
	t *testing.T, masters []*redlocktest.Master, change func(*exec.Cmd), flags []string, script string, names ...string,
) *listeners {
	t.Helper()
	l, begin := listenersFor(t)
	l.process = launchWith(t, masters, change, append(append([]string{"run"}, flags...), "name", "--", "bash", "-c",
		begin+script)...)
	t.Cleanup(func() {
		for _, pid := range l.pids() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	l.listen(names...)
	return l
}

// listen waits until those named listen.
func (l *listeners) listen(names ...string) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		pids := l.pids()
		return !slices.ContainsFunc(names, func(n string) bool { return pids[n] == 0 })
	}, patience, 5*time.Millisecond, "not all of %q listen", names)
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

// hear waits until each of the listeners has received a signal.
func (l *listeners) hear(s syscall.Signal, names ...string) {
	l.t.Helper()
	for _, name := range names {
		heard := func() bool { return l.received(name, s) > 0 }
		require.Eventually(l.t, heard, patience, time.Millisecond, "%s: %d %v", name, s, s)
	}
}

// once checks that each of the listeners has received a signal once.
func (l *listeners) once(s syscall.Signal, names ...string) {
	l.t.Helper()
	for _, name := range names {
		assert.Equal(l.t, 1, l.received(name, s), "%s: %d %v", name, s, s)
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
