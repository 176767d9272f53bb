package clients

import (
	"bytes"
	"runtime/pprof"
	"slices"
	"time"
)

// leaveTimeout is how long goroutines may take to end after a Close.
const leaveTimeout = 2 * time.Second

// leftover returns how many goroutines of a lock run after at most leaveTimeout.
func leftover() int {
	for deadline := time.Now().Add(leaveTimeout); ; time.Sleep(10 * time.Millisecond) {
		n := ours()
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

// ours counts the goroutines of locks.
func ours() int {
	var dump bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&dump, 2) // a buffer takes everything
	n := 0
	for stack := range bytes.SplitSeq(dump.Bytes(), []byte("\n\n")) {
		if slices.ContainsFunc(locks, func(pkg []byte) bool { return bytes.Contains(stack, pkg) }) {
			n++
		}
	}
	return n
}
