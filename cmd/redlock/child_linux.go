package main

import "syscall"

// dieTogether has the kernel send SIGTERM to the command if this process dies without a chance to (kill -9): nobody
// extends its lock then.
func dieTogether(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
