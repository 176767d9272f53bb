//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-go/redlock"
)

// child is a running command, leader of a process group of its own. Between it and this process is a supervisor.
type child struct {
	group    int // also the leader's pid
	ended    chan status
	terminal *terminal
	link     *link
	pulse    *pulse
	spared   map[int]bool // the descendants from before the supervisor
}

// start runs path with argv and env under lock, on this process's own stdin, stdout and stderr. If this process dies,
// or is stopped until the lock has ended, the command and everything that it started get SIGTERM, and SIGKILL after
// grace. start returns errStoppedTooLong if the lock had ended before the command was started.
func start(
	lock *redlock.Lock, grace time.Duration, signals *caught, path string, argv, env []string,
) (*child, error) {
	spared := descendantsByNow()
	inheritOrphans() // those of a killed supervisor
	term := openTerminal(signals)
	super, l, err := startSupervisor(lock, grace, path, argv, env)
	if err != nil {
		term.close()
		return nil, fmt.Errorf("its supervisor cannot be started: %w", err)
	}
	limitSupervisor(lock.Context(), super.Process, grace)
	p := &pulse{super: super.Process}
	p.ask()
	m, ok := l.receive()
	p.answer()
	switch {
	case ok && m.verb == hasStarted:
		c := &child{group: int(m.n), ended: make(chan status, 1), terminal: term, link: l, pulse: p, spared: spared}
		go c.watch(super, grace, func() bool { return lock.Err() == nil })
		return c, nil
	case ok && m.verb == cameTooLate:
		err = errStoppedTooLong
	case ok && m.verb == cannotStart:
		err = &fs.PathError{Op: "exec", Path: path, Err: syscall.Errno(m.n)}
	default:
		err = fmt.Errorf("its supervisor was killed: %w", errMayHaveRun)
	}
	_ = super.Wait()
	if !ok && len(descendants(spared)) > 0 { // the supervisor started the command, but could not report that
		s := &supervisor{changes: reap(0), spared: spared, report: func(string, int64) {}}
		s.end()
		s.run()
	}
	l.close()
	term.close()
	return nil, err
}

func startSupervisor(
	lock *redlock.Lock, grace time.Duration, path string, argv, env []string,
) (*exec.Cmd, *link, error) {
	self, err := ownProgram()
	if err != nil {
		return nil, nil, errors.New(err.Error()) // a missing file here says nothing about the command
	}
	ours, theirs, err := newLink()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = unix.Close(theirs) }()
	// The supervisor inherits its end under the number that it has here. Passed as one of ExtraFiles, it would take the
	// number of a descriptor that is meant for the command.
	if _, err := unix.FcntlInt(uintptr(theirs), unix.F_SETFD, 0); err != nil {
		ours.close()
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	cmd := &exec.Cmd{
		Path: self, Args: superviseArgs(theirs, grace, endOf(lock), path, argv), Env: env,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	resumeAtDeath(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		ours.close()
		return nil, nil, errors.New(err.Error()) // as above
	}
	return cmd, ours, nil
}

// watch handles the reports of the supervisor. When the command is suspended, watch does what a shell would do: it
// resumes the command later, unless mayResume returns false.
func (c *child) watch(super *exec.Cmd, grace time.Duration, mayResume func() bool) {
	expired := false
	for {
		m, ok := c.link.receive()
		c.pulse.answer()
		switch {
		case !ok:
			_ = super.Wait()
			c.ended <- c.takeOver(grace)
			return
		case m.verb == hasHeard:
		case m.verb == hasStopped:
			c.terminal.stopped(c.group, syscall.Signal(m.n), mayResume)
		case m.verb == hasExpired:
			expired = true
		default:
			_ = super.Wait()
			how := ended(m)
			how.expired = expired
			c.ended <- how
			return
		}
	}
}

// takeOver ends the command and everything that it started after its supervisor was killed. It sends SIGTERM, even if
// the command has had one, waits for a whole grace period, and sends SIGKILL. It returns how the command ended. The
// code is that of a SIGKILL, even if the command exited with 0 at its SIGTERM: it could not finish its work. After a
// loss of the lock, redlock exits with exitLost instead.
func (c *child) takeOver(grace time.Duration) (how status) {
	stderr.say("redlock: the supervisor of the command was killed: stopping the command")
	s := &supervisor{group: c.group, grace: grace, changes: reap(c.group), spared: c.spared}
	s.report = func(verb string, n int64) {
		if verb != hasStopped {
			how = ended(message{verb, n})
		}
	}
	s.end()
	s.run()
	how.code = exitSignal + int(unix.SIGKILL)
	return how
}

// ended returns how the command ended, according to a report of its supervisor.
func ended(m message) status {
	if m.verb == wasEndedBy {
		return status{code: exitSignal + int(m.n), signal: syscall.Signal(m.n)}
	}
	return status{code: int(m.n)}
}

// send forwards a signal to the whole group.
func (c *child) send(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		c.link.send(sendSignal, int64(n))
	}
}

// reportDeadline sends the end of the lock to the supervisor, which needs it if this process is stopped from now on.
func (c *child) reportDeadline(lock *redlock.Lock) {
	c.pulse.ask()
	c.link.send(holdsLock, int64(endOf(lock)))
}

// stop ends the command and everything that it started: SIGTERM, the grace period, SIGKILL. The status is sent on ended
// when no process is left.
func (c *child) stop() { c.link.send(stopTree, 0) }

// close takes the terminal back. Call it when the leader of the command's group has ended. orderly is false if the
// leader was killed, and may have left the terminal in another mode.
func (c *child) close(orderly bool) {
	c.link.close()
	c.terminal.takeBack(c.group)
	if !orderly {
		c.terminal.restore()
	}
	c.terminal.close()
}
