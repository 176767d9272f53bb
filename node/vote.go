package node

import (
	"fmt"
	"time"
)

// Verdict is the kind of a node's answer.
type Verdict uint8

// The four answers. The zero value is the careful one.
const (
	// Unknown: the operation may have been executed, or may yet be.
	Unknown Verdict = iota
	// Failed: it was certainly not executed.
	Failed
	// Denied: it was executed, and found somebody else, or nobody, where it needed its own token.
	Denied
	// Granted: it was executed and did what it is for.
	Granted
)

func (v Verdict) String() string {
	switch v {
	case Granted:
		return "granted"
	case Denied:
		return "denied"
	case Failed:
		return "failed"
	default:
		return "unknown"
	}
}

// Answered reports whether the master itself said so: it executed the operation and replied.
func (v Verdict) Answered() bool { return v == Granted || v == Denied }

// Vote is a node's answer to one operation. A round has one for each node, so its size is a good part of what a lock allocates.
type Vote struct {
	Verdict
	// Owned: the Number was there already, and is what other holds of the same owner have.
	Owned bool
	// Healed: the key was missing and has been set again. It comes with Denied: the token was gone, so somebody else
	// may have had the lock meanwhile, and the vote must not count for its old holder.
	Healed bool
	// Unsent: the operation was never written to the master. It comes with Failed.
	Unsent bool
	// Number is what the operation's script returned with a grant, where it returns one.
	Number int64
	// Wait is how long the present holder's key lives on, with Denied; 0 if the operation does not tell.
	Wait time.Duration
	// Data is what a reading operation read, or what a denial says of the holder.
	Data any
	// Server is the identity of the process that answered; nil if nobody did.
	Server *Server
	// Took is the time from asking to this vote.
	Took time.Duration
	// Err is why, with Failed and Unknown.
	Err error
}

// RunID is that of the server that answered; "" if nobody did, or it is not known.
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

// badReply is the vote of a reply that the operation cannot return. The operation may have been executed.
func badReply(reply any) Vote {
	return unknown(fmt.Errorf("the reply %.100q is not what the operation returns", fmt.Sprint(reply)))
}
