package quorum

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-multierror"
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

// PermanentError reports that too many nodes failed with errors that only an operator can fix, so that retrying cannot
// succeed. See [node.Permanent].
type PermanentError struct {
	// Err wraps ErrNoQuorum and a *NodeError for each of these nodes.
	Err error
}

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *PermanentError) Unwrap() error { return e.Err }

// noQuorum returns ErrNoQuorum, joined with why unless that is nil.
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
