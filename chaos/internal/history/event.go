// Package history records a run: one JSON line per event, written by every process of the run, with times of a clock
// that all of them share. An operation that was invoked and has no return in the history may have happened or not.
package history

import (
	"fmt"
	"time"
)

// Kind is the kind of an event.
type Kind string

// Events of clients.
const (
	// Invoked says that an acquisition begins. It may have an effect from here on.
	Invoked Kind = "invoked"
	// Acquired says that an acquisition returned with a lock. The client believes that it holds the lock from T until
	// Until.
	Acquired Kind = "acquired"
	// Extended says that the client learned that its lock now ends at Until: after an extension, or because the rate of
	// its clock changed.
	Extended Kind = "extended"
	// Lost says that the client was notified of the loss of its lock.
	Lost Kind = "lost"
	// ReleaseCalled says that the client is about to unlock. Its belief ends here.
	ReleaseCalled Kind = "release-called"
	// Released says that the unlock returned, with Err if it was not confirmed.
	Released Kind = "released"
	// Refused says that the acquisition returned without a lock; Err says why. It may have set keys.
	Refused Kind = "refused"
	// Stalled says that the client's process did not run for the length of Stall before T.
	Stalled Kind = "stalled"
	// Quitting says that the client has closed its locker, and that Goroutines of it are left.
	Quitting Kind = "quitting"
)

// Events of the registers, which are the resources that the locks protect.
const (
	// Read says that the holder read Value.
	Read Kind = "read"
	// Written says that the register accepted Value, which the writer computed from From. If the register no longer held
	// From, the update of another writer is lost.
	Written Kind = "written"
	// Rejected says that the register refused Value, because it has seen a larger fencing token.
	Rejected Kind = "rejected"
)

// Events of the harness.
const (
	// Phase says that a phase of the run begins.
	Phase Kind = "phase"
	// Inject says that the injection of a fault into Targets begins.
	Inject Kind = "inject"
	// Heal says that the healing of a fault at Targets begins.
	Heal Kind = "heal"
	// Healthy says that Targets answer again.
	Healthy Kind = "healthy"
	// Keys lists the keys of Master.
	Keys Kind = "keys"
	// Sockets lists the Connections and Channels of clients at Master.
	Sockets Kind = "sockets"
	// Broken says that the harness itself failed; Err says how. A run with this event cannot pass.
	Broken Kind = "broken"
	// Failed says that a client ended by itself or did not execute a command; Err says which. The lock in it may be to
	// blame.
	Failed Kind = "failed"
)

// The phases of a run, as they stand in Event.Phase.
const (
	// Storm has traffic under faults.
	Storm = "storm"
	// Calm begins when every fault is healed and every master answers.
	Calm = "calm"
	// Settled begins when no client holds or wants a lock and every master answers.
	Settled = "settled"
)

// The registers.
const (
	// Trusting accepts every write.
	Trusting = "trusting"
	// Fenced refuses a fencing token smaller than the largest that it has seen for the name.
	Fenced = "fenced"
)

// An Event is one line of a history. The line has only the fields that concern its kind.
type Event struct {
	// T is the time on the machine's clock (see [Clock]).
	T    time.Duration `json:"t"`
	Kind Kind          `json:"kind"`

	// Client, Life, Worker and Op identify the client, the number of its life (a killed client starts a new one), the
	// goroutine in it, and the acquisition of that goroutine.
	Client string `json:"client,omitempty"`
	Life   int    `json:"life,omitempty"`
	Worker int    `json:"worker,omitempty"`
	Op     int    `json:"op,omitempty"`

	// Name is the lock's name. If it has several, Names has them, and Name has them joined by ",".
	Name  string   `json:"name,omitempty"`
	Names []string `json:"names,omitempty"`
	// Mode is the kind of the lock, a name of package kinds; "" is a mutex.
	Mode string `json:"mode,omitempty"`
	// Owner is the owner of a reentrant lock, Slots the number of slots of a semaphore.
	Owner string `json:"owner,omitempty"`
	Slots int    `json:"slots,omitempty"`
	// Try says in an Invoked that the acquisition does not wait.
	Try bool `json:"try,omitempty"`
	// Fencing says in an Invoked that a fencing token was asked for. Fence is the lock's token, 0 for none.
	Fencing bool   `json:"fencing,omitempty"`
	Fence   uint64 `json:"fence,omitempty"`
	// Token is the token that the masters store for the lock, if the client knows it.
	Token string `json:"token,omitempty"`
	// TTL is the TTL of the acquisition. Keepalive says that the lock is extended while it is held.
	TTL       time.Duration `json:"ttl,omitempty"`
	Keepalive bool          `json:"keepalive,omitempty"`
	MinHold   time.Duration `json:"min_hold,omitempty"`
	// Until is the time at which the client's belief ends by itself, on the clock of T.
	Until time.Duration `json:"until,omitempty"`
	// Register is the kind of the register. From and Value are the values of its counter.
	Register    string        `json:"register,omitempty"`
	From        int64         `json:"from,omitempty"`
	Value       int64         `json:"value,omitempty"`
	Stall       time.Duration `json:"stall,omitempty"`
	Goroutines  int           `json:"goroutines,omitempty"`
	Connections int           `json:"connections,omitempty"`
	Channels    []string      `json:"channels,omitempty"`
	// Err is what went wrong.
	Err string `json:"err,omitempty"`

	// Phase is the phase of the run to which the event belongs.
	Phase string `json:"phase,omitempty"`

	// Fault is the name of a fault. Targets are indices of masters or of clients, as On says.
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
	// Left is the remaining TTL; negative if the key has none.
	Left time.Duration `json:"left"`
}

// An ID identifies one acquisition of one worker in one life of a client.
type ID struct {
	Client           string
	Life, Worker, Op int
}

// Locked returns every name of the event's lock.
func (e Event) Locked() []string {
	if len(e.Names) > 0 {
		return e.Names
	}
	return []string{e.Name}
}

// ID returns the acquisition to which the event belongs.
func (e Event) ID() ID { return ID{e.Client, e.Life, e.Worker, e.Op} }

// Text describes the event in one line, with times since begin.
func (e Event) Text(begin time.Duration) string {
	text := fmt.Sprintf("%.6f %s", (e.T - begin).Seconds(), e.Kind)
	add := func(is bool, format string, args ...any) {
		if is {
			text += fmt.Sprintf(format, args...)
		}
	}
	add(e.Client != "", " %s.%d/%d/%d", e.Client, e.Life, e.Worker, e.Op)
	add(e.Name != "", " %q", e.Name)
	add(e.Mode != "", " %s", e.Mode)
	add(e.Owner != "", " of %s", e.Owner)
	add(e.Token != "", " token %s", e.Token)
	add(e.Fence != 0, " fence %d", e.Fence)
	add(e.Register != "", " %s register, %d made of %d", e.Register, e.Value, e.From)
	add(e.Until != 0, " until %.6f", (e.Until - begin).Seconds())
	add(e.Kind == Keys || e.Kind == Sockets, " at master %d", e.Master)
	add(e.Err != "", ": %s", e.Err)
	return text
}
