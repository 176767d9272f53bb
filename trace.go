package redlock

import (
	"time"

	"github.com/redlock-go/redlock/node"
)

// Trace is a set of functions to call as things happen, in the manner of net/http/httptrace; any may be nil.
// They are called synchronously, several at a time, from whatever goroutine is at work: they must be quick, safe for
// concurrent use, and must not call back into the Locker.
type Trace struct {
	// Vote: a master answered an operation ("acquire", "raise", "extend", "release", "look", "leave", "announce", "inspect", "status")
	// about the lock name ("" for status) with vote ("granted", "denied", "failed", "unknown") after took. err is set for
	// failed and unknown.
	Vote func(name, node, op, vote string, took time.Duration, err error)
	// Acquired: name was locked, after waiting took and attempts rounds; 0 rounds: it was handed over (see [WithoutHandOver]).
	Acquired func(name string, took time.Duration, attempts int)
	// Waiting: Lock was refused and waits, for at most wait, until it tries again; err says what for.
	Waiting func(name string, wait time.Duration, err error)
	// Extended: a keepalive or Extend moved the lock's end to until, or failed to with err.
	Extended func(name string, until time.Time, err error)
	// Lost: a lock was lost; err says why.
	Lost func(name string, err error)
	// Released: an Unlock ended; err is what it returns.
	Released func(name string, err error)
	// Node: a master stopped answering (err says how), or answers again (err is nil).
	Node func(node string, err error)
}

// voted is what a quorum calls with every vote; nil if nobody wants to know.
func (t *Trace) voted() func(string, *node.Op, node.Vote) {
	if t == nil || t.Vote == nil {
		return nil
	}
	return func(master string, op *node.Op, v node.Vote) {
		t.Vote(op.Lock, master, op.Name, v.Verdict.String(), v.Took, v.Err)
	}
}
