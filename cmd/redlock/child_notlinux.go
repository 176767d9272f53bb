//go:build unix && !linux

package main

import "syscall"

// dieTogether does nothing: only Linux ends a child with its parent.
func dieTogether(*syscall.SysProcAttr) {}
