package quorum

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"
)

var (
	// ErrNoQuorum: fewer than a majority of the nodes answered, or they did so too late.
	ErrNoQuorum = errors.New("redlock: no majority of the masters answered")
	// ErrGone: a majority of the nodes said that the token is not there any more.
	ErrGone = errors.New("a majority of the masters no longer holds the token")
	// ErrEnding: the quorum is about to be closed.
	ErrEnding = errors.New("the quorum is being closed")
	// ErrOver: the lease was released, or its deadline has passed.
	ErrOver = errors.New("the lease is over")
)

// DeniedError says that somebody else is in the way.
type DeniedError struct {
	// Wait is when the present holder's keys end, where a node told; 0 otherwise.
	Wait time.Duration
	// By is what a node that denied said of the holder; nil if none did.
	By any
	// Alone: it was the scout that denied, and nobody else was asked.
	Alone bool
}

func (e *DeniedError) Error() string { return "held by another" }

// NodeError is one master's failure to answer one operation.
type NodeError struct {
	// Node is the master's address, without its password.
	Node string
	// Op is the operation: "acquire", "raise", "extend", "release", "look", "leave", "announce", "inspect", "status".
	Op string
	// Err is why.
	Err error
}

func (e *NodeError) Error() string { return fmt.Sprintf("%s: %s: %v", e.Node, e.Op, e.Err) }

// Unwrap returns Err.
func (e *NodeError) Unwrap() error { return e.Err }

// StuckError says that so many nodes failed for reasons that a person must mend that waiting is in vain.
type StuckError struct {
	// Err is ErrNoQuorum, wrapped with a *NodeError for each of them.
	Err error
}

func (e *StuckError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *StuckError) Unwrap() error { return e.Err }

// noQuorum wraps ErrNoQuorum with why.
func noQuorum(why error) error {
	if why == nil {
		return ErrNoQuorum
	}
	return fmt.Errorf("%w: %w", ErrNoQuorum, why)
}

// Gather makes one error of the failures of several nodes; nil if there are none. Its text is one line.
func Gather(failed []*NodeError) error {
	if len(failed) == 0 {
		return nil
	}
	all := &multierror.Error{ErrorFormat: oneLine}
	for _, f := range failed {
		all.Errors = append(all.Errors, f)
	}
	return all
}

func oneLine(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
