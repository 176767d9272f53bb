package history

import (
	"time"

	"golang.org/x/sys/unix"
)

func machine() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("history: CLOCK_MONOTONIC cannot be read: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
