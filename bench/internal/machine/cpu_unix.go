//go:build unix

package machine

import (
	"syscall"
	"time"
)

// CPUSeconds returns the CPU time that this process has used, or 0 where the system does not provide it.
func CPUSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
