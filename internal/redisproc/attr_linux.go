package redisproc

import "syscall"

// attributes: a process group of its own, so that a terminal's Ctrl-C reaches the harness alone and the harness decides
// when its servers end; and SIGKILL when the harness dies, frozen or not.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
