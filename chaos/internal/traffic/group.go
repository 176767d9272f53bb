// Package traffic is the clients of a run: processes of their own that lock, hold and unlock shared names, touch what the
// locks protect, and write down what they believe. The harness starts, kills and freezes them; it talks to them in JSON
// lines on their standard input and output.
package traffic

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// ReadersWriters is the mode of a group in which some read and some write; in the history they are
// [history.ModeReader] and [history.ModeWriter]. The other modes of groups are those of the history.
const ReadersWriters = "readers-writers"

// Whose a reentrant lock is.
const (
	// OwnerClient: all workers of a client process share it, in all its lives.
	OwnerClient = "client"
	// OwnerWorker: every worker has its own.
	OwnerWorker = "worker"
)

// Group is a few shared names and how all workers use them.
type Group struct {
	// Names are the names of the locks, without the prefix of the run. Every acquisition is of one of them, drawn; with
	// [history.ModeSeveral] of two at least, or all.
	Names []string `json:"names"`
	// Own: every client has names of its own, made of these, so that only its own workers contend.
	Own bool `json:"own,omitempty"`
	// Mode is what kind of lock it is: [history.ModeMutex] (also ""), [history.ModeReentrant], [history.ModeSeveral], or
	// [ReadersWriters].
	Mode string `json:"mode,omitempty"`
	// Writers is the share of writers among ReadersWriters, Downgrades the share of those who go on as readers half-way.
	Writers    float64 `json:"writers,omitempty"`
	Downgrades float64 `json:"downgrades,omitempty"`
	// Owner is whose a reentrant lock is, Depth how many holds are nested: 0 and 1 are one.
	Owner string `json:"owner,omitempty"`
	Depth int    `json:"depth,omitempty"`
	// TTL is what is locked with.
	TTL time.Duration `json:"ttl"`
	// Keepalive: it is extended while held.
	Keepalive bool `json:"keepalive,omitempty"`
	// Careless: a holder goes on for as long as it wanted, even when it was told of a loss.
	Careless bool `json:"careless,omitempty"`
	// Fencing: the locks come with fencing tokens.
	Fencing bool `json:"fencing,omitempty"`
	// Workers is how many goroutines of each client contend; 0: as many as the Config says.
	Workers int `json:"workers,omitempty"`
	// Hold is how long they want to hold.
	Hold Hold `json:"hold"`
	// Rest is how long they pause between two acquisitions.
	Rest Span `json:"rest,omitzero"`
	// Register is which register the holders read and write: none, [history.Trusting] or [history.Fenced].
	Register string `json:"register,omitempty"`
	// Patience is how long most wait for a lock; 0: 20 seconds. Some ask once, and some wait for a moment only.
	Patience time.Duration `json:"patience,omitempty"`
}

// Hold draws a duration from Usual, and with the given Chance from Rare.
type Hold struct {
	Usual  Span    `json:"usual"`
	Rare   Span    `json:"rare,omitzero"`
	Chance float64 `json:"chance,omitempty"`
}

// Span is a range of durations, without Below.
type Span struct {
	Least time.Duration `json:"least"`
	Below time.Duration `json:"below"`
}

func (s Span) draw(rng *rand.Rand) time.Duration {
	if s.Below <= s.Least {
		return s.Least
	}
	return s.Least + time.Duration(rng.Int64N(int64(s.Below-s.Least)))
}

func (h Hold) draw(rng *rand.Rand) time.Duration {
	if rng.Float64() < h.Chance {
		return h.Rare.draw(rng)
	}
	return h.Usual.draw(rng)
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

// modes returns the modes of locks that the group asks for.
func (g Group) modes() []string {
	switch g.Mode {
	case "":
		return []string{history.ModeMutex}
	case ReadersWriters:
		return []string{history.ModeReader, history.ModeWriter}
	default:
		return []string{g.Mode}
	}
}

// check returns an error if the group asks for what cannot be.
func (g Group) check() error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("group %q: %s", g.Names, fmt.Sprintf(format, args...)))
	}
	switch g.Mode {
	case "", history.ModeMutex, ReadersWriters:
	case history.ModeReentrant:
		if g.Owner != OwnerClient && g.Owner != OwnerWorker {
			wrong("the owner of a reentrant lock is %q or %q, not %q", OwnerClient, OwnerWorker, g.Owner)
		}
		if g.Owner == OwnerClient && g.Register != "" {
			wrong("workers who share an owner do not exclude each other, so they may not share a register")
		}
	case history.ModeSeveral:
		if len(g.Names) < 2 {
			wrong("several names are at least two")
		}
		if g.Register != "" {
			wrong("a register protects one name, and this group locks several")
		}
	default:
		wrong("there is no mode %q", g.Mode)
	}
	if len(g.Names) == 0 {
		wrong("it has no names")
	}
	if g.TTL <= 0 {
		wrong("its TTL is %v", g.TTL)
	}
	return errors.Join(errs...)
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
