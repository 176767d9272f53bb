package traffic

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Config is the configuration of a client process.
type Config struct {
	// Client and Life identify the process.
	Client string
	Life   int
	// Lock is the name of the broken lock that it uses (see [broken.All]); "" is the lock under test.
	Lock string
	// URLs are the masters.
	URLs []string
	// MaxTTL is the longest TTL or minimum hold of any client.
	MaxTTL time.Duration
	// Prefix is the beginning of all names.
	Prefix string
	// Groups is the traffic.
	Groups []Group
	// Registers are the addresses of the registers that the groups use, by kind.
	Registers map[string]string
	// Seed determines how long the workers hold, and how long they wait.
	Seed uint64
	// History is the file that it writes, which must not exist.
	History string
}

// The crash points.
const (
	// NoCrashPoint removes the crash point.
	NoCrashPoint = ""
	// Acquiring kills the client a few hundred microseconds to milliseconds after it called Lock.
	Acquiring = "acquiring"
	// Holding kills the client at the beginning of the critical section.
	Holding = "holding"
	// FrozenHolding freezes the client near the end of the critical section, after the holder last checked its lock and
	// before the write that this check allowed. Even a careful holder does not check again.
	FrozenHolding = "frozen-holding"
	// Releasing kills the client a few hundred microseconds to milliseconds after it called Unlock.
	Releasing = "releasing"
)

// CrashPoint is the crash point that is set. A client crashes there once.
type CrashPoint struct{ point atomic.Value }

// Set sets the crash point. [NoCrashPoint] removes it.
func (c *CrashPoint) Set(point string) { c.point.Store(point) }

// Reached reports whether point is the crash point, and removes it: only one worker crashes at it.
func (c *CrashPoint) Reached(point string) bool { return c.point.CompareAndSwap(point, NoCrashPoint) }

// Name returns the name of a client in the history.
func Name(client int) string { return fmt.Sprintf("c%d", client) }
