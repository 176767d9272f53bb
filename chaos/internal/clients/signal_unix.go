//go:build unix

package clients

import (
	"os"
	"os/exec"
	"syscall"
)

func canFreeze() error { return nil }

// freeze asks the kernel to stop the process, which may run for a moment longer.
func freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// detach gives the client a process group of its own: a terminal's Ctrl-C then reaches only the harness, which ends its
// clients itself.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
