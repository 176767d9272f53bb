//go:build unix

package main

import (
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// commandSignals returns the signals that are for the command: all that a Go program can catch, except those that tell
// about this process itself: its children, its broken pipes, its use of the terminal, and the preemption of its
// goroutines. SIGTSTP comes later: see catchStop.
func commandSignals() (all []os.Signal) {
	last := syscall.Signal(31)
	if runtime.GOOS == "linux" {
		last = 64 // with the real-time signals
	}
	own := []syscall.Signal{
		unix.SIGKILL, unix.SIGSTOP, unix.SIGCHLD, unix.SIGPIPE, unix.SIGTTIN, unix.SIGTTOU, unix.SIGURG,
		unix.SIGTSTP,
	}
	for s := syscall.Signal(1); s <= last; s++ {
		if !slices.Contains(own, s) {
			all = append(all, s)
		}
	}
	return all
}

// catchStop catches SIGTSTP, too, for the command. Before, while redlock waits for the lock, it stops this process; on
// a terminal it always does: see terminal. (A Go program that has caught it once cannot stop itself with it any more: a
// later wait of redlock lead takes no notice of it.)
func (s *caught) catchStop() {
	if term := openTerminal(nil); term != nil {
		term.close()
		return
	}
	signal.Notify(s.c, unix.SIGTSTP)
}

// endsWait reports whether a signal ends the wait for a lock: whether its default effect ends a process.
func endsWait(s os.Signal) bool {
	n, _ := s.(syscall.Signal)
	return !slices.Contains([]string{"SIGCONT", "SIGWINCH", "SIGTSTP", "SIGINFO"}, unix.SignalName(n))
}

// surviveBrokenPipes makes writes to an output without a reader fail. Otherwise such a write would end this process
// before it has ended the command.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }

// suspend stops this process's whole group with stop, as the terminal would have done, and returns when the group is
// resumed. The
// kernel does not stop an orphaned group, which no shell could resume: suspend then returns after 2 s. A busy machine
// may need a while to stop this process. If suspend returned before, the user would have to resume it twice.
func (s *caught) suspend(stop syscall.Signal) {
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, unix.SIGCONT)
	defer signal.Stop(resumed)
	s.resume.Store(true)
	_ = unix.Kill(0, stop)
	select {
	case <-resumed:
	case <-time.After(2 * time.Second):
		s.resume.Store(false)
	}
}

// isResume reports whether a signal is the SIGCONT that ended suspend.
func (s *caught) isResume(got os.Signal) bool { return got == unix.SIGCONT && s.resume.Swap(false) }
