package redisproc

import "syscall"

// attributes gives the server a process group of its own, so that a terminal's Ctrl-C reaches only the harness, which
// decides when its servers end. It also has the kernel kill the server, frozen or not, when the harness dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
