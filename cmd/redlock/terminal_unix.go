//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminal is the controlling terminal. Where there is none it is nil, and its methods do nothing.
//
// The command runs in a group of its own, and only one group may use the terminal. If redlock's group is in the
// foreground, it lends the terminal to the command: at once if stdin and stdout are the terminal, otherwise when the
// command is stopped for trying to use it. A pager that reads the command's output is in redlock's group, and needs the
// terminal itself. The shell waits for redlock and not for the command, so when the command is suspended
// (Ctrl-Z), redlock suspends itself, too.
type terminal struct {
	tty   *os.File
	group int         // our own
	mode  *term.State // how the command found it

	signals *caught
}

func openTerminal(signals *caught) *terminal {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	t := &terminal{tty: tty, group: unix.Getpgrp(), signals: signals}
	t.mode, _ = term.GetState(t.fd())
	return t
}

// lendsAtOnce reports whether the command should start in the foreground.
func (t *terminal) lendsAtOnce() bool {
	return t != nil && t.foreground() == t.group &&
		term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
}

func (t *terminal) fd() int { return int(t.tty.Fd()) }

func (t *terminal) foreground() int {
	group, err := unix.IoctlGetInt(t.fd(), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// lend makes group the foreground of the terminal. A process in the background would be stopped by SIGTTOU for this
// unless it ignored the signal.
func (t *terminal) lend(group int) {
	signal.Ignore(unix.SIGTTOU)
	defer signal.Reset(unix.SIGTTOU)
	_ = unix.IoctlSetPointerInt(t.fd(), unix.TIOCSPGRP, group)
}

// takeBack makes our own group the foreground again if it was lent to group.
func (t *terminal) takeBack(group int) {
	if t != nil && t.foreground() == group {
		t.lend(t.group)
	}
}

// restore brings the terminal back to the mode in which the command found it.
func (t *terminal) restore() {
	if t != nil && t.mode != nil && t.foreground() == t.group {
		_ = term.Restore(t.fd(), t.mode)
	}
}

func (t *terminal) close() {
	if t != nil {
		_ = t.tty.Close()
	}
}

// stopped is called when group was stopped by s. It returns when the group was resumed or must not be. A stop that does
// not come from the terminal changes nothing: redlock keeps the lock, and the user may resume the command.
func (t *terminal) stopped(group int, s syscall.Signal, mayResume func() bool) {
	if t == nil {
		return
	}
	wantsIt := s == unix.SIGTTIN || s == unix.SIGTTOU
	front := t.foreground()
	if front != group && !wantsIt {
		return
	}
	if front != t.group { // Ctrl-Z, or both in the background: the shell must notice
		t.takeBack(group)
		if !wantsIt {
			s = unix.SIGTSTP
		}
		t.signals.suspend(s) // a redlock around this one lends the terminal if s says that it is wanted
		if !mayResume() {
			return
		}
	}
	if t.foreground() == t.group { // not resumed in the background
		t.lend(group)
	}
	_ = unix.Kill(-group, unix.SIGCONT)
}
