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
	maxReuse    = time.Second            // how long a reading may be used
)

var _ Suspender = system{}

var (
	atStart   = bootAhead(read)         // the reading at the start of the process
	suspended atomic.Int64              // the largest reading so far minus atStart, in nanoseconds
	lastRead  atomic.Pointer[beginning] // of the last reading
)

// beginning is the time just before a reading.
type beginning struct {
	at   time.Time
	wall int64 // the wall clock at that time, in nanoseconds
}

// Suspended returns by how much more CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, which is Go's clock, than at the start
// of the process. It returns 0 on kernels before 2.6.39.
func (s system) Suspended() time.Duration { return s.suspendedAt(time.Now()) }

// suspendedAt is Suspended for a caller that has just read the clock.
//
// A reading takes three system calls, and the library reads the time several times for each lock. So suspendedAt takes
// a new reading only if the machine may have been suspended since the last one, which Go's own clocks show. They
// usually take no system call.
func (system) suspendedAt(now time.Time) time.Duration {
	if last := lastRead.Load(); last != nil {
		if !mayHaveSlept(time.Duration(now.UnixNano()-last.wall), now.Sub(last.at)) {
			return time.Duration(suspended.Load())
		}
	}
	total := largest(bootAhead(read) - atStart)
	lastRead.Store(&beginning{now, now.UnixNano()})
	return total
}

// mayHaveSlept reports whether the machine may have been suspended while the wall clock advanced by wall and the
// monotonic clock by monotonic. When a suspension ends, the kernel adds its length to the wall clock and to
// CLOCK_BOOTTIME in one step (__timekeeping_inject_sleeptime in kernel/time/timekeeping.c), and not to the monotonic
// clock. So without a suspension both advance alike, until somebody sets the wall clock. If it is set back by just the
// length of a suspension, that suspension remains unnoticed for at most maxReuse.
func mayHaveSlept(wall, monotonic time.Duration) bool {
	return monotonic > maxReuse || (wall-monotonic).Abs() >= granularity/2
}

// bootAhead returns by how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, as read says; 0 if there is no such clock.
func bootAhead(read func(id uintptr) (time.Duration, bool)) (ahead time.Duration) {
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
	return ahead
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
