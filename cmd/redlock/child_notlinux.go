//go:build unix && !linux

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// sharedClock is a monotonic clock that all processes share.
const sharedClock = unix.CLOCK_MONOTONIC

// dieTogether does nothing: only Linux ends a child with its parent.
func dieTogether(*syscall.SysProcAttr) {}

// resumeAtDeath does nothing: see dieTogether.
func resumeAtDeath(*syscall.SysProcAttr) {}

func ownProgram() (string, error) { return os.Executable() }

// inheritOrphans does nothing: processes that leave the command's group cannot be found.
func inheritOrphans() {}

func becomeSupervisor() {}

type descendant struct{ pid, parent, group int }

func descendantsByNow() map[int]bool { return nil }

// descendants finds nothing outside the command's group.
func descendants(map[int]bool) []descendant { return nil }
