package clock

import "time"

// Largest records a reading, as if none larger than before had been taken so far.
func Largest(before, now time.Duration) time.Duration {
	real := suspended.Swap(int64(before))
	defer suspended.Store(real)
	return largest(now)
}

// ForgetReading makes the next reading the first one.
func ForgetReading() { lastRead.Store(nil) }
