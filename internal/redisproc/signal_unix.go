//go:build unix

package redisproc

import "syscall"

func freeze(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }

func thaw(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
