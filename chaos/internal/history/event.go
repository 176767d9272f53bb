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
	// Extended: the client learned that its lock now ends at Until. Its clock may have changed its rate, and no more.
	Extended Kind = "extended"
	// Lost: the client was told that its lock is gone.
	Lost Kind = "lost"
	// ReleaseCalled: the client is about to unlock; its belief ends here.
	ReleaseCalled Kind = "release-called"
	// Released: the unlock returned, with Err if it could not be confirmed.
	Released Kind = "released"
	// Refused: the acquisition returned without a lock; Err says why. It may have placed keys all the same.
	Refused Kind = "refused"
	// Downgraded: the client is about to make its writer's lock a reader's; from here on it believes in no more than that.
	Downgraded Kind = "downgraded"
	// Stalled: the process noticed that it had not run for the length of Stall, up to T. One without a client is the harness.
	Stalled Kind = "stalled"
	// Starved: a processor of the machine did not serve the process for the length of Stall, up to T; others may have. Without a client
	// it is the harness.
	Starved Kind = "starved"
	// Quitting: the client has closed its locker; Goroutines are still left of it.
	Quitting Kind = "quitting"
)

// What the registers write, the resources that the locks are to protect.
const (
	// Read: the holder was told Value.
	Read Kind = "read"
	// Written: the register took Value, which its writer made of From. If From is no longer what the register had, what
	// another wrote is lost.
	Written Kind = "written"
	// Rejected: the register refused Value, because it has seen a larger fencing token.
	Rejected Kind = "rejected"
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
	// Sockets: the Connections and Channels that clients have at Master, beside the harness's own.
	Sockets Kind = "sockets"
	// Broken: the harness itself failed; Err says how. A run with this event has no good verdict.
	Broken Kind = "broken"
	// Failed: a client did what nobody told it, or did not do what it was told; Err says what. The lock in it may be to blame.
	Failed Kind = "failed"
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

// The modes of locks.
const (
	ModeMutex     = "mutex"
	ModeReader    = "reader"
	ModeWriter    = "writer"
	ModeReentrant = "reentrant"
	ModeSeveral   = "several"
)

// The registers.
const (
	// Trusting takes whatever it is told.
	Trusting = "trusting"
	// Fenced refuses a fencing token smaller than the largest that it has seen for the name.
	Fenced = "fenced"
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

	// Name is the lock's name, Names all of them if it has several. Name is then their join by ",".
	Name  string   `json:"name,omitempty"`
	Names []string `json:"names,omitempty"`
	// Mode is what kind of lock it is: one of the modes below. "" is a mutex.
	Mode string `json:"mode,omitempty"`
	// Owner is whose a reentrant lock is.
	Owner string `json:"owner,omitempty"`
	// Fencing: a fencing token was asked for; an Invoked says so. Fence is the lock's, 0 for none.
	Fencing bool   `json:"fencing,omitempty"`
	Fence   uint64 `json:"fence,omitempty"`
	// Token is what the masters hold for the lock, if the client knows it.
	Token string `json:"token,omitempty"`
	// TTL is what the lock was asked for with.
	TTL time.Duration `json:"ttl,omitempty"`
	// Until is when the client's belief ends by itself, on the clock of T.
	Until time.Duration `json:"until,omitempty"`
	// Votes are what the masters said to an acquisition.
	Votes []Vote `json:"votes,omitempty"`
	// Register is which register was asked, From and Value what was written: numbers, as the resource is a counter.
	Register string `json:"register,omitempty"`
	From     int64  `json:"from,omitempty"`
	Value    int64  `json:"value,omitempty"`
	// Stall is how long the process, or what was on the processor, did not run.
	Stall time.Duration `json:"stall,omitempty"`
	// Processor is which one did not serve it.
	Processor int `json:"processor,omitempty"`
	// Goroutines, Connections and Channels are what is left.
	Goroutines  int      `json:"goroutines,omitempty"`
	Connections int      `json:"connections,omitempty"`
	Channels    []string `json:"channels,omitempty"`
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

// Vote is one master's answer to one acquisition.
type Vote struct {
	Master  int           `json:"master"`
	Verdict string        `json:"verdict"` // granted, denied, failed or unknown
	Took    time.Duration `json:"took,omitempty"`
	Err     string        `json:"err,omitempty"`
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

// Locked returns every name that the event's lock is about.
func (e Event) Locked() []string {
	if len(e.Names) > 0 {
		return e.Names
	}
	return []string{e.Name}
}

// ID returns which acquisition the event belongs to.
func (e Event) ID() ID { return ID{e.Client, e.Life, e.Worker, e.Op} }
