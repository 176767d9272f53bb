package clock

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The clocks of clock_gettime(2). Both are slewed in the same way, so that they differ only by the time for which the
// machine was suspended.
const (
	clockMonotonic = 1
	clockBoottime  = 7
)

const (
	maxReadings = 5                      // how often to try to read the clocks in quick succession
	maxApart    = 100 * time.Microsecond // how far apart the first and the last reading may be
	granularity = time.Millisecond       // a smaller difference is the time between the readings, not a suspension
)

var _ Suspender = system{}

// suspended is the largest reading so far, in nanoseconds.
var suspended atomic.Int64

// Suspended returns by how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, which is Go's clock. It returns 0 on
// kernels before 2.6.39.
func (system) Suspended() time.Duration {
	var ahead time.Duration // of CLOCK_BOOTTIME
	for range maxReadings {
		before, _ := read(clockMonotonic)
		boot, ok := read(clockBoottime)
		after, _ := read(clockMonotonic)
		if !ok {
			return 0
		}
		if ahead = boot - after; after-before <= maxApart {
			break
		}
	}
	return largest(ahead)
}

// largest records a reading and returns the largest one so far.
func largest(now time.Duration) time.Duration {
	for {
		last := suspended.Load()
		if int64(now)-last < int64(granularity) {
			return time.Duration(last)
		}
		if suspended.CompareAndSwap(last, int64(now)) {
			return now
		}
	}
}

func read(id uintptr) (_ time.Duration, ok bool) {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}
