//go:build unix

package redisproc

import "syscall"

func freeze(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }

func thaw(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }

// killChildren ends what the server has forked, such as a BGSAVE, and the server itself.
func killChildren(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
