package history

import (
	"time"

	"golang.org/x/sys/unix"
)

// Note is empty where times of several processes can be compared, and says what to beware of where not.
const Note = ""

func machine() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("history: CLOCK_MONOTONIC cannot be read: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
