//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuSeconds is how much CPU time this process has used; 0 where the system does not tell.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
