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

func (e *NodeError) Error() string { return e.Node + ": " + e.Op + ": " + e.reason() }

// reason is why it failed, without naming the node again, as errors of the network do.
func (e *NodeError) reason() string {
	text := strings.Join(strings.Fields(fmt.Sprint(e.Err)), " ")
	text = strings.NewReplacer(" "+e.Node, "", "->"+e.Node, "").Replace(text)
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "") + "…"
	}
	return text
}

// longestReason bounds what a node can put into a text. All errors of package node are shorter.
const longestReason = 320

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

// Gather makes one error of the failures of several nodes to answer one operation; nil if there are none. Its text is
// one line.
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

// oneLine names every node once: those that failed for the same reason together. What they were asked is for the text
// around it to say.
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
