package clients

import (
	"bytes"
	"runtime"
	"time"
)

// leaveTimeout is how long goroutines may take to end after a Close.
const leaveTimeout = 2 * time.Second

// leftover returns how many goroutines of a lock run after at most leaveTimeout.
func leftover() int {
	for deadline := time.Now().Add(leaveTimeout); ; time.Sleep(10 * time.Millisecond) {
		n := ours(stacks())
		if n == 0 || time.Now().After(deadline) {
			return n
		}
	}
}

// locks are the packages whose functions the goroutines of locks run, or were created by.
var locks = [][]byte{
	[]byte("github.com/redlock-go/redlock."), []byte("github.com/redlock-go/redlock/internal/wire."),
	[]byte("github.com/redlock-go/redlock/quorum."), []byte("github.com/redlock-go/redlock/clock."),
	[]byte("github.com/redis/go-redis/"),
}

// ours counts the goroutines of locks in a dump.
func ours(dump []byte) int {
	n := 0
	for stack := range bytes.SplitSeq(dump, []byte("\n\n")) {
		for _, p := range locks {
			if bytes.Contains(stack, p) {
				n++
				break
			}
		}
	}
	return n
}

func stacks() []byte {
	for size := 1 << 18; ; size *= 2 {
		dump := make([]byte, size)
		if n := runtime.Stack(dump, true); n < size {
			return dump[:n]
		}
	}
}
