package redlock

import (
	"time"

	"github.com/redlock-go/redlock/node"
)

// Trace is a set of hooks, as in net/http/httptrace. Any hook may be nil. The Locker calls the hooks synchronously and
// from several goroutines at the same time. A hook must return quickly, be safe for concurrent use, and not call back
// into the Locker.
type Trace struct {
	// Vote is called when an operation on one master ends. op is "acquire", "raise", "extend", "release", "probe",
	// "withdraw", "announce", "inspect" or "status". name is the name of the lock ("" for status). vote is "granted",
	// "denied", "failed" or "unknown"; err is set for the last two. took is how long the operation took.
	Vote func(name, node, op, vote string, took time.Duration, err error)
	// Acquired is called when a lock was acquired. took is how long the call waited, and attempts is how many rounds of
	// requests it sent: 0 if the lock was handed over (see [WithoutHandOver]).
	Acquired func(name string, took time.Duration, attempts int)
	// Waiting is called when an attempt of a waiting call failed with err. The call tries again after at most wait.
	Waiting func(name string, wait time.Duration, err error)
	// Extended is called when an extension, by the keepalive or by [Lock.Extend], succeeded or failed with err. until
	// is when the lock ends now.
	Extended func(name string, until time.Time, err error)
	// Lost is called when a lock was lost. err is the reason.
	Lost func(name string, err error)
	// Released is called when an Unlock ends. err is the error that it returns.
	Released func(name string, err error)
	// Node is called when a master stops answering (err is the failure) or answers again (err is nil).
	Node func(node string, err error)
}

// voted returns the function that a quorum calls with every vote; nil if there is no Vote hook.
func (t *Trace) voted() func(string, *node.Op, node.Vote) {
	if t == nil || t.Vote == nil {
		return nil
	}
	return func(master string, op *node.Op, v node.Vote) {
		t.Vote(op.Lock, master, op.Name, v.Verdict.String(), v.Took, v.Err)
	}
}
