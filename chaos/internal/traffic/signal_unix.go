//go:build unix

package traffic

import (
	"os"
	"os/exec"
	"syscall"
)

func canFreeze() error { return nil }

func freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// detach gives the client a process group of its own: what a terminal sends at Ctrl-C reaches the harness, which ends
// its clients itself.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
