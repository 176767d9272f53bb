//go:build unix

package clients

import (
	"os"
	"os/exec"
	"syscall"
)

func canFreeze() error { return nil }

// freeze stops the process and, where the system shows it, returns only once every thread has stopped: the kernel
// delivers the signal after the call that sends it has returned.
func freeze(p *os.Process) error {
	if err := signalStop(p); err != nil {
		return err
	}
	return waitStopped(p.Pid)
}

// signalStop asks the kernel to stop the process. A process that stops itself cannot wait for that.
func signalStop(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// detach gives the client a process group of its own: a terminal's Ctrl-C then reaches only the harness, which ends its
// clients itself.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
