package quorum

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/redlock-go/redlock/internal/wire"
)

var (
	// ErrNoQuorum is returned if no majority of the nodes agreed in time.
	ErrNoQuorum = errors.New("redlock: no majority of the masters answered")
	// ErrGone is returned if a majority of the nodes no longer has the token.
	ErrGone = errors.New("a majority of the masters no longer holds the token")
	// ErrClosing is returned after Config.Closing was closed.
	ErrClosing = errors.New("the quorum is being closed")
	// ErrEnded is returned if the lease was released or its deadline has passed.
	ErrEnded = errors.New("the lease is over")
	// ErrSameServer is the error of a node that is the same server as another node. The server has one vote.
	ErrSameServer = errors.New("this is the same server as another of the masters: give every master its own address")
	// ErrTooLate is the reason of an ErrNoQuorum if a majority granted, but too late.
	ErrTooLate = errors.New("the votes arrived too late")
)

// NodeError is one master's failure to answer one operation.
type NodeError struct {
	// Node is the master's address, without its password.
	Node string
	// Op is the operation: "acquire", "raise", "extend", "release", "probe", "withdraw", "announce", "inspect", "status".
	Op string
	// Err is the reason.
	Err error
}

func (e *NodeError) Error() string { return e.Node + ": " + e.Op + ": " + e.reason() }

// reason returns the text of e.Err on one line, at most longestReason bytes long and without the node's address, which
// errors of package net contain.
func (e *NodeError) reason() string {
	text := strings.Join(strings.Fields(fmt.Sprint(e.Err)), " ")
	text = strings.NewReplacer(" "+e.Node, "", "->"+e.Node, "").Replace(text)
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "") + "…"
	}
	return text
}

// longestReason bounds how much text of a node's reply an error shows. All errors of package node are shorter.
const longestReason = 320

// Unwrap returns Err.
func (e *NodeError) Unwrap() error { return e.Err }

// DeniedError reports that a node denied the acquire: a majority answered and at least one node denied, or the first
// node denied and no other was asked. Another client has the lock, or contends for it.
type DeniedError struct {
	// Wait is the longest time that a node reported until the keys in the way expire; 0 if no node reported one.
	Wait time.Duration
	// By is the Data of that denial; nil if it has none.
	By any
	// ByFirst reports whether only the first node was asked: it denied.
	ByFirst bool

	round *round
}

// Votes returns the votes of the nodes that have answered so far, in the order of the nodes.
func (e *DeniedError) Votes() (votes []wire.Vote) {
	e.round.withTally(func(t *tally) {
		for _, v := range t.votes {
			if v.Verdict.Answered() {
				votes = append(votes, v)
			}
		}
	})
	return votes
}

func (e *DeniedError) Error() string { return "held by another" }

// PermanentError reports that too many nodes failed with errors that only an operator can fix, so that retrying cannot
// succeed. See [node.Permanent].
type PermanentError struct {
	// Err wraps ErrNoQuorum and a *NodeError for each node that failed in the last attempt.
	Err error
}

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *PermanentError) Unwrap() error { return e.Err }

// noQuorum returns ErrNoQuorum, with why as its reason if why is not nil.
func noQuorum(why error) error {
	if why == nil {
		return ErrNoQuorum
	}
	return &noQuorumError{why}
}

// noQuorumError is ErrNoQuorum and its reason. Its text is built on demand: when masters stop answering, the extensions
// of all held locks fail at once, and few of their errors are ever read.
type noQuorumError struct{ why error }

func (e *noQuorumError) Error() string   { return ErrNoQuorum.Error() + ": " + e.why.Error() }
func (e *noQuorumError) Unwrap() []error { return []error{ErrNoQuorum, e.why} }

// JoinNodeErrors returns one error that wraps the failures of several nodes in one operation, or nil if there are none.
// Its text is one line.
func JoinNodeErrors(failed []*NodeError) error {
	if len(failed) == 0 {
		return nil
	}
	all := &multierror.Error{ErrorFormat: oneLine}
	for _, f := range failed {
		all.Errors = append(all.Errors, f)
	}
	return all
}

// oneLine lists the nodes, grouped by the reason. It leaves out the operation, which the surrounding text names.
func oneLine(errs []error) string {
	var reasons []string
	nodes := make(map[string][]string) // by reason
	for _, err := range errs {
		var failed *NodeError
		if !errors.As(err, &failed) {
			continue
		}
		why := failed.reason()
		if nodes[why] == nil {
			reasons = append(reasons, why)
		}
		nodes[why] = append(nodes[why], failed.Node)
	}
	for i, why := range reasons {
		reasons[i] = strings.Join(nodes[why], ", ") + ": " + why
	}
	return strings.Join(reasons, "; ")
}
