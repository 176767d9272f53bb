package traffic

import (
	"fmt"
	"time"
)

// Config is the configuration of a client process, sent as JSON in its first line of input.
type Config struct {
	// Client and Life identify the process.
	Client string `json:"client"`
	Life   int    `json:"life"`
	// Lock is the lock that it uses: Quorum, or the name of a broken one (see [broken.All]).
	Lock string `json:"lock"`
	// URLs are the masters.
	URLs []string `json:"urls"`
	// MaxTTL is the longest TTL or minimum hold of any client.
	MaxTTL time.Duration `json:"max_ttl"`
	// Prefix is the beginning of all names.
	Prefix string `json:"prefix"`
	// Groups is the traffic.
	Groups []Group `json:"groups,omitempty"`
	// Workers is the number of goroutines that contend for a group, unless the group has its own number.
	Workers int `json:"workers"`
	// Registers are the addresses of the registers that the groups use, by kind.
	Registers map[string]string `json:"registers,omitempty"`
	// ClockRate is the rate of the client's clock: 1.1 is a tenth too fast, and 0 means 1. It affects only the clock of
	// the lock. The history has times of the machine's clock.
	ClockRate float64 `json:"clock_rate,omitempty"`
	// Seed determines how long the workers hold, and how long they wait.
	Seed uint64 `json:"seed"`
	// History is the file that it writes, which must not exist.
	History string `json:"history"`
}

// The locks that a client can use, in addition to those of [broken.All].
const (
	// Quorum is the lock under test.
	Quorum = "quorum"
)

// A Command is sent by the harness to a client.
type Command struct {
	Do string `json:"do"`
	// Phase, TTL and Patience belong to Round.
	Phase    string        `json:"phase,omitempty"`
	TTL      time.Duration `json:"ttl,omitempty"`
	Patience time.Duration `json:"patience,omitempty"`
	// CrashPoint belongs to SetCrashPoint.
	CrashPoint string `json:"crash_point,omitempty"`
	// Gain belongs to Drift.
	Gain float64 `json:"gain,omitempty"`
}

// The commands. A client answers each with a line whose Done repeats it.
const (
	// Stop ends the traffic: all holds are ended and unlocked.
	Stop = "stop"
	// Round acquires once what each group acquires: each name, as a reader and as a writer where there are both, or all
	// names at once; with a fencing token where there is one. It waits up to Patience for each, and unlocks it.
	Round = "round"
	// SetCrashPoint has the client kill or freeze itself when it next reaches CrashPoint.
	SetCrashPoint = "set-crash-point"
	// Drift makes the clock of the lock gain Gain seconds a second from now on. With 0 the clock runs at its first rate,
	// and keeps what it has gained.
	Drift = "drift"
	// Quit closes the locker. The process ends with its input.
	Quit = "quit"
)

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

// CrashPoints returns all crash points.
func CrashPoints() []string { return []string{Acquiring, Holding, FrozenHolding, Releasing} }

// An Answer is sent by a client to the harness.
type Answer struct {
	// Done is the command that is done, or Ready.
	Done string `json:"done,omitempty"`
	// Held is the number of locks that the client has held so far. It is sent about twice a second.
	Held int `json:"held,omitempty"`
}

// Ready is the first answer: the traffic has begun.
const Ready = "ready"

// Name returns the name of a client in the history.
func Name(client int) string { return fmt.Sprintf("c%d", client) }
