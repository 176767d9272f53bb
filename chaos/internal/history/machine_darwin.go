package history

import (
	"time"

	"golang.org/x/sys/unix"
)

// machine reads CLOCK_UPTIME_RAW, which is what Go's own monotonic time is made of here; CLOCK_MONOTONIC is slewed and
// runs while the machine sleeps.
func machine() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_UPTIME_RAW, &ts); err != nil {
		panic("history: CLOCK_UPTIME_RAW cannot be read: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
