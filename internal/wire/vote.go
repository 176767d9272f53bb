package wire

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/link"
)

// Verdict is the kind of a vote.
type Verdict uint8

// The four verdicts. The zero value is Unknown, so a vote that was never set proves nothing.
const (
	// Unknown means that the operation may have been executed, or may yet be.
	Unknown Verdict = iota
	// Failed means that the operation was certainly not executed.
	Failed
	// Denied means that the operation was executed and had no effect: it found another token than its own, or no token
	// where it needed its own.
	Denied
	// Granted means that the operation was executed and had its effect.
	Granted
)

func (v Verdict) String() string {
	if v > Granted {
		v = Unknown
	}
	return [...]string{"unknown", "failed", "denied", "granted"}[v]
}

// Answered reports whether the master executed the operation and replied.
func (v Verdict) Answered() bool { return v == Granted || v == Denied }

// Vote is a node's answer to one request. A round holds one for each node, so the size of a Vote is a large part of
// what a lock allocates.
type Vote struct {
	Verdict
	// Owned reports that other holds of the same owner have the same Number.
	Owned bool
	// Healed reports that the key was missing and has been set again. The verdict is Denied: another client may have
	// held the lock meanwhile, so the vote must not count for the old holder.
	Healed bool
	// Unsent reports that the operation was not written to the master, or was answered only that its script is not
	// known, and will not be written any more. The verdict is Failed.
	Unsent bool
	// Guarded reports that the master granted, and that the grant does not count: its server was not trusted when the
	// request was sent (see [link.Server.Trusted]), is no master, or is one of several. The verdict is Unknown.
	Guarded bool
	// Number is the number that the operation's script returned with a grant, or with the denial of a raise; otherwise 0.
	Number int64
	// Wait is how long the current holder's key lives on if the verdict is Denied; 0 if the operation does not return
	// it.
	Wait time.Duration
	// Data is what a reading operation read, or what a denial contains about the holder.
	Data any
	// Server identifies the process that answered; nil if none did.
	Server *link.Server
	// Took is the time from the request to this vote.
	Took time.Duration
	// Err is the reason for Failed and Unknown. A granted status vote has one, too, if the address leads to several
	// servers.
	Err error
}

// RunID returns the run id of the server that answered; "" if none did, or the run id is unknown.
func (v *Vote) RunID() string {
	if v.Server == nil {
		return ""
	}
	return v.Server.RunID
}

func grant() Vote            { return Vote{Verdict: Granted} }
func failed(err error) Vote  { return Vote{Verdict: Failed, Err: err} }
func unsent(err error) Vote  { return Vote{Verdict: Failed, Err: err, Unsent: true} }
func unknown(err error) Vote { return Vote{Verdict: Unknown, Err: err} }

// BadReply returns the vote for a reply of a type that the operation cannot return, whatever its keys have. The
// operation may have been executed. The node ends the connection: the reply may be the one to another call.
func BadReply(reply any) Vote {
	return unknown(&badReplyError{fmt.Sprintf("%.100q", fmt.Sprint(reply))})
}

// badReplyError reports a reply that the operation cannot return.
type badReplyError struct{ quoted string }

func (e *badReplyError) Error() string {
	return "the reply " + e.quoted + " is not what the operation returns"
}
