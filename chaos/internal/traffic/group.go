// Package traffic has what clients do: groups of shared names, the workers that lock, hold and unlock them, use the
// registers that the locks protect, and write a history of what they believe. It also has the protocol between the
// harness and a client. Package clients runs a [Life] in a process, package simulation in virtual time.
package traffic

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// ReadersWriters is the mode of a group in which some read and some write; in the history they are
// [kinds.Reader] and [kinds.Writer]. The other modes of groups are those of the history.
const ReadersWriters = "readers-writers"

// Owners of reentrant locks.
const (
	// OwnerClient has all workers of a client share one owner, in all lives of the client.
	OwnerClient = "client"
	// OwnerWorker gives every worker its own owner.
	OwnerWorker = "worker"
)

// A Group is a few shared names, and says how all workers use them.
type Group struct {
	// Names are the names of the locks, without the prefix of the run. Every acquisition draws one of them, or with
	// [kinds.Several] at least two.
	Names []string `json:"names"`
	// Own derives names for each client from Names, so that only the workers of one client contend.
	Own bool `json:"own,omitempty"`
	// Mode is what kind of lock it is: [kinds.Mutex] (also ""), [kinds.Reentrant], [kinds.Several], [kinds.Semaphore],
	// [kinds.Leader], or [ReadersWriters].
	Mode string `json:"mode,omitempty"`
	// Writers is the share of writers in ReadersWriters.
	Writers float64 `json:"writers,omitempty"`
	// Owner is the owner of a reentrant lock, Depth the number of nested holds; 0 means 1.
	Owner   string        `json:"owner,omitempty"`
	Depth   int           `json:"depth,omitempty"`
	Slots   int           `json:"slots,omitempty"`
	TTL     time.Duration `json:"ttl"`
	MinHold time.Duration `json:"min_hold,omitempty"`
	// Keepalive extends the locks while they are held.
	Keepalive bool `json:"keepalive,omitempty"`
	// Careless holders do not stop when they lose the lock.
	Careless bool `json:"careless,omitempty"`
	Fencing  bool `json:"fencing,omitempty"`
	// Workers is the number of goroutines of each client that contend; 0 means 1.
	Workers int  `json:"workers,omitempty"`
	Hold    Hold `json:"hold"`
	// Rest is the pause between two acquisitions.
	Rest Span `json:"rest,omitzero"`
	// Register is the register that the holders read and write: none, [history.Trusting] or [history.Fenced].
	Register string `json:"register,omitempty"`
}

// Hold draws a duration from Rare with the given Chance, and otherwise from Usual.
type Hold struct {
	Usual  Span    `json:"usual"`
	Rare   Span    `json:"rare,omitzero"`
	Chance float64 `json:"chance,omitempty"`
}

// A Span is a range of durations that excludes Below.
type Span struct {
	Least time.Duration `json:"least"`
	Below time.Duration `json:"below"`
}

// Draw draws a duration of the span.
func (s Span) Draw(rng *rand.Rand) time.Duration {
	if s.Below <= s.Least {
		return s.Least
	}
	return s.Least + time.Duration(rng.Int64N(int64(s.Below-s.Least)))
}

// Draw draws how long to hold.
func (h Hold) Draw(rng *rand.Rand) time.Duration {
	if rng.Float64() < h.Chance {
		return h.Rare.Draw(rng)
	}
	return h.Usual.Draw(rng)
}

// names returns the group's names as a client locks them.
func (g Group) names(prefix, client string) []string {
	names := make([]string, len(g.Names))
	for i, n := range g.Names {
		names[i] = prefix + n
		if g.Own {
			names[i] += ":" + client
		}
	}
	return names
}

// Modes returns the modes of locks that the group asks for.
func (g Group) Modes() []string {
	switch g.Mode {
	case "":
		return []string{kinds.Mutex}
	case ReadersWriters:
		return []string{kinds.Reader, kinds.Writer}
	default:
		return []string{g.Mode}
	}
}

// Names returns the names that all clients share, of all groups, under a prefix.
func Names(prefix string, groups []Group) []string {
	var names []string
	for _, g := range groups {
		if !g.Own {
			names = append(names, g.names(prefix, "")...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
