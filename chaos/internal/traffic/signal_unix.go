//go:build unix

package traffic

import (
	"os"
	"os/exec"
	"syscall"
)

func canFreeze() error { return nil }

// freeze stops the process and, where the system shows it, returns only once every thread has stopped: the kernel
// delivers the signal after the call that sends it has returned.
func freeze(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return waitStopped(p.Pid)
}

func thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// detach gives the client a process group of its own: a terminal's Ctrl-C then reaches only the harness, which ends its
// clients itself.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
