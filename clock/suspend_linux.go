package clock

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The clocks of clock_gettime(2). Both are slewed alike, so that they differ by the time that the machine was suspended.
const (
	clockMonotonic = 1
	clockBoottime  = 7
)

const (
	readings    = 5                      // of the two clocks, until they were read together
	together    = 100 * time.Microsecond // how far apart at most
	granularity = time.Millisecond       // less is what lies between the readings, not a suspension
)

var _ Suspender = system{}

// suspended is the largest reading so far, in nanoseconds.
var suspended atomic.Int64

// Suspended returns what CLOCK_BOOTTIME counted and CLOCK_MONOTONIC, which is Go's, did not; 0 on a kernel before 2.6.39.
func (system) Suspended() time.Duration {
	var apart time.Duration
	for range readings {
		before, _ := read(clockMonotonic)
		boot, ok := read(clockBoottime)
		after, _ := read(clockMonotonic)
		if !ok {
			return 0
		}
		if apart = boot - after; after-before <= together {
			break
		}
	}
	return grown(apart)
}

// grown returns the largest reading so far.
func grown(now time.Duration) time.Duration {
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
