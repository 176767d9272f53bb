//go:build unix

package main

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisorName is the program name, argv[0], with which redlock starts itself as a supervisor.
const supervisorName = "redlock-supervisor"

// A supervisor is a process between redlock and the command. It starts the command and reports when it is suspended or
// ends. The supervisor ends the command and everything that it started when redlock orders it, when redlock has died,
// and when redlock is stopped and its lock has ended meanwhile. A parent-death signal alone would not suffice: it
// reaches only the direct child, and it is repeated for every thread of the parent that dies later.
//
// The supervisor has its own process group. A signal that stops or kills redlock's whole group, as Ctrl-Z or kill -9 %1
// in a shell do, does not reach the supervisor.
type supervisor struct {
	group   int // of the command, which leads it; 0 if unknown
	grace   time.Duration
	orders  <-chan message         // closed when redlock has died
	until   instant                // the end of the lock, unless redlock reports an extension before
	lease   <-chan time.Time       // receives after until
	changes <-chan unix.WaitStatus // of the command; closed when this process has no children left
	report  func(verb string, n int64)
	spared  map[int]bool // processes outside the group that are none of the command's

	termSent bool             // SIGTERM was sent to the group
	ending   bool             // the tree is being ended
	orphans  map[int]bool     // the processes outside the group that were sent SIGTERM
	how      *unix.WaitStatus // how the command ended; nil: it has not
	deadline <-chan time.Time // when to kill the remaining processes, or to give up
	killing  bool
}

// leaseSlack is how long after the end of the lock the supervisor waits for a report of an extension before it ends the
// command. If redlock runs, it ends the command of a lost lock without this delay.
const leaseSlack = 100 * time.Millisecond

// superviseArgs returns the arguments of a supervisor. The supervisor does not start the command after until.
func superviseArgs(fd int, grace time.Duration, until instant, path string, argv []string) []string {
	end := strconv.FormatInt(int64(until), 10)
	return append([]string{supervisorName, strconv.Itoa(fd), grace.String(), end, path}, argv...)
}

// supervise is main of the supervisor process.
func supervise(args []string) int {
	if len(args) < 5 {
		return exitUsage
	}
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		return exitUsage
	}
	grace, err := time.ParseDuration(args[1])
	if err != nil {
		return exitUsage
	}
	end, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return exitUsage
	}
	until := instant(end)
	unix.CloseOnExec(fd)
	becomeSupervisor()
	dropSignals()
	l := openLink(fd)
	orders := make(chan message)
	go func() {
		defer close(orders)
		for {
			m, ok := l.receive()
			if !ok {
				return
			}
			orders <- m
		}
	}()
	if l.broken() { // redlock has ended, so the lock is no longer extended
		return 1
	}
	if until.left() <= 0 { // redlock or this process was stopped for too long
		l.send(cameTooLate, 0)
		return 1
	}
	pid, err := launchCommand(args[3], args[4:])
	if err != nil {
		errno := syscall.EINVAL
		_ = errors.As(err, &errno)
		l.send(cannotStart, int64(errno))
		return 1
	}
	s := &supervisor{group: pid, grace: grace, orders: orders, changes: reap(pid)}
	s.report = func(verb string, n int64) { l.send(verb, n) }
	s.holdsUntil(until)
	s.report(hasStarted, int64(pid))
	s.run()
	return 0
}

// dropSignals makes this process survive signals. The command does not inherit this, as it would if the signals were
// ignored here. The command still ignores the signals that redlock itself was started to ignore.
func dropSignals() {
	signals := catchSignals(commandSignals())
	go func() {
		for range signals.c { // redlock forwards the signals that are for the command
		}
	}()
}

// launchCommand starts the command in a group of its own, in the foreground of the terminal if lendsAtOnce says so.
func launchCommand(path string, argv []string) (pid int, err error) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	dieTogether(attr)
	if term := openTerminal(nil); term != nil {
		defer term.close()
		term.group, _ = unix.Getpgid(os.Getppid())
		if term.lendsAtOnce() {
			// A group in the background is stopped when it reads from the terminal.
			attr.Foreground, attr.Ctty = true, term.fd()
		}
	}
	p, err := os.StartProcess(path, argv, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: attr})
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.Release() }() // reap waits, to see it stop as well as end
	return p.Pid, nil
}

// reap reaps all children of this process, including the orphans that it inherited. It returns a channel with the
// status changes of the leader.
func reap(leader int) <-chan unix.WaitStatus {
	changes := make(chan unix.WaitStatus)
	go func() {
		defer close(changes)
		for {
			var ws unix.WaitStatus
			switch pid, err := unix.Wait4(-1, &ws, unix.WUNTRACED, nil); {
			case errors.Is(err, unix.EINTR):
			case err != nil:
				return
			case pid == leader:
				changes <- ws
			}
		}
	}()
	return changes
}

// run returns when the command has ended. After the order to stop, or the death of redlock, it returns when every
// process that the command started has ended or cannot be killed.
func (s *supervisor) run() {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	changes := s.changes
	for {
		var tick <-chan time.Time
		if s.ending {
			tick = poll.C
		}
		select {
		case m, ok := <-s.orders:
			s.obey(m, ok)
		case <-s.lease: // redlock is stopped, or this process was: otherwise a holdsLock would have come before
			if s.until.left() < -2*leaseSlack { // this process was stopped: there may be a holdsLock to read
				s.until, s.lease = instantNow(), time.After(leaseSlack)
				continue
			}
			s.report(hasExpired, 0)
			s.end()
		case ws, ok := <-changes:
			if !ok {
				changes = nil
			} else if s.observe(ws) && !s.ending {
				s.reportEnd()
				return
			}
		case <-s.deadline:
			// Do not wait for a process that cannot be killed, such as one of another user, or that is spared.
			if s.killing && (s.how != nil || changes == nil || !s.alive()) {
				s.reportEnd()
				return
			}
			s.killing, s.deadline = true, time.After(time.Second)
		case <-tick:
		}
		if !s.ending {
			continue
		}
		if changes == nil && !s.alive() {
			s.reportEnd()
			return
		}
		s.endStragglers()
		if len(s.spared) > 0 && !s.killing && !s.alive() && len(descendants(s.spared)) == 0 {
			s.killing, s.deadline = true, time.After(100*time.Millisecond) // changes does not end before a spared process
		}
	}
}

// holdsUntil sets the end of the lock, at which the supervisor ends the command. A later call replaces the end.
func (s *supervisor) holdsUntil(end instant) {
	s.until, s.lease = end, time.After(end.left()+leaseSlack)
}

// obey executes an order of redlock; ok is false if redlock has died.
func (s *supervisor) obey(m message, ok bool) {
	switch {
	case !ok:
		s.orders = nil
		s.end()
	case m.verb == stopTree:
		s.end()
	case m.verb == holdsLock:
		s.holdsUntil(instant(m.n))
		s.report(hasHeard, 0)
	case m.verb == sendSignal:
		n := syscall.Signal(m.n)
		if s.ending && (n == unix.SIGTERM || n == unix.SIGTSTP) {
			return // end has sent a SIGTERM to the group, which must not be suspended
		}
		s.termSent = s.termSent || n == unix.SIGTERM
		s.signal(n)
	}
}

// observe handles a status change of the command, and reports whether the command has ended.
func (s *supervisor) observe(ws unix.WaitStatus) bool {
	if ws.Stopped() {
		s.report(hasStopped, int64(ws.StopSignal()))
		return false
	}
	if ws.Exited() || ws.Signaled() {
		s.how = &ws
		return true
	}
	return false
}

// reportEnd reports how the command ended.
func (s *supervisor) reportEnd() {
	switch {
	case s.how == nil:
		s.report(wasEndedBy, int64(unix.SIGKILL)) // it is not a child of this process, or cannot be reaped
	case s.how.Signaled():
		s.report(wasEndedBy, int64(s.how.Signal()))
	default:
		s.report(hasExited, int64(s.how.ExitStatus()))
	}
}

// end begins to end the whole tree. Suspended processes are resumed, so that they handle the signal.
func (s *supervisor) end() {
	if s.ending {
		return
	}
	s.ending, s.orphans = true, map[int]bool{}
	s.deadline = time.After(s.grace)
	if !s.termSent {
		s.signal(unix.SIGTERM)
	}
	s.signal(unix.SIGCONT)
}

// endStragglers ends the processes that the command started and that left its group. During the grace period such a
// process gets one SIGTERM, when its parent has ended: until then the parent, such as a shell or another redlock run,
// may forward the signal. After the grace period endStragglers kills every process, repeatedly, since they may fork.
func (s *supervisor) endStragglers() {
	if s.killing {
		s.signal(unix.SIGKILL)
	}
	for _, p := range descendants(s.spared) {
		switch {
		case s.killing:
			_ = unix.Kill(p.pid, unix.SIGKILL)
		case p.group != s.group && p.parent == os.Getpid() && !s.orphans[p.pid]:
			s.orphans[p.pid] = true
			_ = unix.Kill(p.pid, unix.SIGTERM)
			_ = unix.Kill(p.pid, unix.SIGCONT)
		}
	}
}

// signal sends a signal to the command's group.
func (s *supervisor) signal(n syscall.Signal) {
	if s.group > 0 {
		_ = unix.Kill(-s.group, n)
	}
}

// alive reports whether the group has members. They need not be children of this process.
func (s *supervisor) alive() bool {
	return s.group > 0 && !errors.Is(unix.Kill(-s.group, 0), unix.ESRCH)
}
