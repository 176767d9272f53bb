package traffic

import "time"

// Config is what a client process is started with, as JSON in its first line of input.
type Config struct {
	// Client and Life say who it is.
	Client string `json:"client"`
	Life   int    `json:"life"`
	// Lock is which lock it uses: Quorum or Naive.
	Lock string `json:"lock"`
	// URLs are the masters. The naive lock uses the first.
	URLs []string `json:"urls"`
	// Window is the restart window of the masters.
	Window time.Duration `json:"window"`
	// Prefix stands before all names.
	Prefix string `json:"prefix"`
	// Workers is how many goroutines contend for each name.
	Workers int `json:"workers"`
	// Seed decides how long they hold, and how patient they are.
	Seed uint64 `json:"seed"`
	// History is the file that it writes, which must not exist.
	History string `json:"history"`
	// HalfLock, if not empty, is a name that the client takes with SETNX, and kills itself before EXPIRE. It does nothing
	// else then.
	HalfLock string `json:"half_lock,omitempty"`
}

// The locks that a client can use.
const (
	// Quorum is the lock under test.
	Quorum = "quorum"
	// Naive is the control: SETNX, then EXPIRE, then a plain DEL, on one master.
	Naive = "naive"
)

// Command is what the harness tells a client.
type Command struct {
	Do string `json:"do"`
	// Phase, Names, TTL and Patience belong to Pass.
	Phase    string        `json:"phase,omitempty"`
	Names    []string      `json:"names,omitempty"`
	TTL      time.Duration `json:"ttl,omitempty"`
	Patience time.Duration `json:"patience,omitempty"`
}

// What a client can be told to do. It answers each with a line whose Done repeats it.
const (
	// Stop ends the traffic: all holds are ended and unlocked.
	Stop = "stop"
	// Pass acquires each name once, waiting up to Patience for it, and unlocks it.
	Pass = "pass"
	// Quit closes everything and ends the process.
	Quit = "quit"
)

// Answer is what a client tells the harness.
type Answer struct {
	// Done is the command that is done, or Ready.
	Done string `json:"done,omitempty"`
	// Held is how many locks it has held so far; sent about twice a second.
	Held int `json:"held,omitempty"`
}

// Ready is the first answer: the traffic has begun.
const Ready = "ready"
