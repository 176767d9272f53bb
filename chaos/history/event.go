// Package history is what a run leaves behind: one JSON line per event, written by every process that took part, on a
// clock that they all share. What the history does not say is not known: an operation that was invoked and never
// returned may have happened, or may not.
package history

import "time"

// Kind says what an event is.
type Kind string

// What clients write.
const (
	// Invoked: an acquisition begins. It may have happened from here on.
	Invoked Kind = "invoked"
	// Acquired: it returned with a lock. The client believes in it from T on, until Until.
	Acquired Kind = "acquired"
	// Extended: the client learned that its lock now ends at Until.
	Extended Kind = "extended"
	// Lost: the client was told that its lock is gone.
	Lost Kind = "lost"
	// ReleaseCalled: the client is about to unlock; its belief ends here.
	ReleaseCalled Kind = "release-called"
	// Released: the unlock returned, with Err if it could not be confirmed.
	Released Kind = "released"
	// Refused: the acquisition returned without a lock; Err says why. It may have placed keys all the same.
	Refused Kind = "refused"
)

// What the harness writes.
const (
	// Phase: the part of the run named by Phase begins.
	Phase Kind = "phase"
	// Inject: a fault begins to be injected at Targets.
	Inject Kind = "inject"
	// Heal: a fault begins to be healed at Targets.
	Heal Kind = "heal"
	// Healthy: Targets answer again.
	Healthy Kind = "healthy"
	// Keys: what Master holds.
	Keys Kind = "keys"
	// Broken: the harness itself failed; Err says how. A run with this event has no good verdict.
	Broken Kind = "broken"
)

// The phases of a run, as they stand in Event.Phase.
const (
	// Storm: traffic under faults.
	Storm = "storm"
	// Calm: every fault is healed, and every master answers.
	Calm = "calm"
	// Ghosts: masters are frozen while locks are taken and released.
	Ghosts = "ghosts"
	// Settled: no client holds or wants a lock, and every master answers.
	Settled = "settled"
)

// Event is one line of a history. Fields that do not concern its kind are left out of the line.
type Event struct {
	// T is when, on the machine's clock (see [Clock]).
	T time.Duration `json:"t"`
	// Kind is what.
	Kind Kind `json:"kind"`

	// Client, Life, Worker and Op say who: which client process, its how manieth life (a killed client starts a new
	// one), which goroutine in it, and which acquisition of that goroutine.
	Client string `json:"client,omitempty"`
	Life   int    `json:"life,omitempty"`
	Worker int    `json:"worker,omitempty"`
	Op     int    `json:"op,omitempty"`

	// Name is the lock's name.
	Name string `json:"name,omitempty"`
	// Token is what the masters hold for the lock, if the client knows it.
	Token string `json:"token,omitempty"`
	// TTL is what the lock was asked for with.
	TTL time.Duration `json:"ttl,omitempty"`
	// Until is when the client's belief ends by itself, on the clock of T.
	Until time.Duration `json:"until,omitempty"`
	// Err is what went wrong.
	Err string `json:"err,omitempty"`

	// Phase is the phase of the run in which the event belongs.
	Phase string `json:"phase,omitempty"`

	// Fault and Targets are which fault, at whom: indices of masters or of clients, as On says.
	Fault   string `json:"fault,omitempty"`
	On      string `json:"on,omitempty"`
	Targets []int  `json:"targets,omitempty"`

	// Master and Held are a master and the keys it has.
	Master int   `json:"master"`
	Held   []Key `json:"held,omitempty"`
}

// Key is one key on one master.
type Key struct {
	Name  string `json:"name"`
	Token string `json:"token,omitempty"`
	// Left is how long the key will live; negative for ever.
	Left time.Duration `json:"left"`
}

// ID is one acquisition of one worker of one life of one client.
type ID struct {
	Client           string
	Life, Worker, Op int
}

// ID returns which acquisition the event belongs to.
func (e Event) ID() ID { return ID{e.Client, e.Life, e.Worker, e.Op} }
