//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is a running command, leader of a process group of its own: what is sent to it reaches what it has started, too.
type child struct {
	group    int // also the leader's pid
	ended    chan status
	terminal *terminal
}

// start runs path with argv and env on this process's own stdin, stdout and stderr. mayGoOn is asked, from another
// goroutine, before a command that was suspended on a terminal is resumed; if it says no, the command stays suspended.
func start(path string, argv, env []string, mayGoOn func() bool) (*child, error) {
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieTogether(cmd.SysProcAttr)
	term := openTerminal()
	if term.lendsAtOnce() {
		// A group in the background is stopped when it reads from the terminal.
		cmd.SysProcAttr.Foreground = true
		cmd.SysProcAttr.Ctty = term.fd()
	}
	if err := cmd.Start(); err != nil {
		term.close()
		return nil, err
	}
	c := &child{group: cmd.Process.Pid, ended: make(chan status, 1), terminal: term}
	_ = cmd.Process.Release() // we wait for it ourselves, to see it stop as well as end
	go c.watch(mayGoOn)
	return c, nil
}

// watch reaps the leader, and does what a shell would do when it is stopped meanwhile.
func (c *child) watch(mayGoOn func() bool) {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(c.group, &ws, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || pid != c.group:
			c.ended <- status{code: 1} // cannot happen: nobody else reaps it
			return
		case ws.Stopped():
			c.terminal.stopped(c.group, ws.StopSignal(), mayGoOn)
		case ws.Signaled():
			c.ended <- status{code: exitSignal + int(ws.Signal()), signal: ws.Signal()}
			return
		case ws.Exited():
			c.ended <- status{code: ws.ExitStatus()}
			return
		}
	}
}

// send forwards a signal to the whole group.
func (c *child) send(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		_ = unix.Kill(-c.group, n)
	}
}

// terminate asks the whole group to end. What is stopped is woken up to hear it.
func (c *child) terminate() {
	_ = unix.Kill(-c.group, unix.SIGTERM)
	_ = unix.Kill(-c.group, unix.SIGCONT)
}

// kill ends the whole group.
func (c *child) kill() { _ = unix.Kill(-c.group, unix.SIGKILL) }

// gone reports whether nothing of the group is left, once the leader was reaped. Where this process is the one that
// inherits orphans (PID 1 of a container), it reaps them.
func (c *child) gone() bool {
	for {
		pid, err := unix.Wait4(-c.group, nil, unix.WNOHANG, nil)
		if err != nil || pid <= 0 {
			return errors.Is(unix.Kill(-c.group, 0), unix.ESRCH)
		}
	}
}

// close takes the terminal back. It is called when the leader has ended; orderly is false if it was killed, and may have
// left the terminal in a mode of its own.
func (c *child) close(orderly bool) {
	c.terminal.takeBack(c.group)
	if !orderly {
		c.terminal.restore()
	}
	c.terminal.close()
}
