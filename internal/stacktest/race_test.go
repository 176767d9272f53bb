//go:build race

package stacktest_test

import "runtime"

// The runtime of the race detector of Go 1.26 crashes (SIGSEGV, or "ThreadSanitizer: CHECK failed") when the timers of
// synctest bubbles run on two processors: about every second run of this package. It finds races by the order of
// events, so one processor is enough for it.
func init() { runtime.GOMAXPROCS(1) }
