package redlock

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/quorum"
)

// What can become of a lock. All are found with errors.Is through whatever wraps them; the text around them names the
// lock, and says what each master answered.
var (
	// ErrHeld: somebody else holds the lock. [HeldError] carries more.
	ErrHeld = errors.New("redlock: the lock is held by another")
	// ErrNoQuorum: fewer than a majority of the masters answered in time, or may vote. Of an acquisition, everything that
	// may have been placed is being released; a lock that was to be extended is held as before; one that was to be
	// unlocked is spent, and its release is pursued.
	ErrNoQuorum = quorum.ErrNoQuorum
	// ErrLost: the lock was held and is not any more, though nobody unlocked it. Whatever it protected must stop.
	ErrLost = errors.New("redlock: the lock was lost")
	// ErrReleased: this handle was unlocked before and holds nothing.
	ErrReleased = errors.New("redlock: the lock was released")
	// ErrClosed: the Locker was closed.
	ErrClosed = errors.New("redlock: the locker is closed")
)

// HeldError says that somebody else holds a lock. It matches [ErrHeld], and is always returned as a pointer.
type HeldError struct {
	// Name is the name that was held: of a LockAll's, one that was.
	Name string
	// Kind is the kind of the lock that holds it, "mutex", "reader", "writer" or "reentrant", or the type of a key that is
	// none of ours; "" if unknown (a plain SET NX PX does not tell). A reader that an exclusive waiter keeps out is told "writer".
	Kind string
	// Retry is when the holder's TTL ends, counted from the answer; 0 if unknown. The holder may release earlier, or
	// extend.
	Retry time.Duration
}

func (e *HeldError) Error() string {
	text := fmt.Sprintf("redlock: %q is held by another", e.Name)
	if e.Kind != "" {
		text += " (" + e.Kind + ")"
	}
	if e.Retry > 0 {
		text += fmt.Sprintf(" for up to %v", e.Retry.Round(time.Millisecond))
	}
	return text
}

// Is reports whether target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// releasedError is ErrReleased about a name. Every Unlock makes one, and few are ever read.
type releasedError string

func (e releasedError) Error() string { return fmt.Sprintf("%v: %q", ErrReleased, string(e)) }

func (releasedError) Unwrap() error { return ErrReleased }

// NodeError is one master's failure to answer one operation: which master (its address, never its password), which
// operation, and why. [NodeErrors] returns those of a failure.
type NodeError = quorum.NodeError

// NodeErrors returns what each master that failed said, in the order of the masters, or nil if err carries no
// [NodeError]. Every [ErrNoQuorum] carries one for each master that had failed when the majority was out of reach; errors
// joined from several operations carry those of each, one operation after the other. It looks through everything that
// wraps err ([fmt.Errorf], [errors.Join], and the like). An error that err contains twice is returned once, but two
// failures of one master are two errors.
func NodeErrors(err error) []*NodeError {
	var found []*NodeError
	var walk func(error)
	walk = func(err error) {
		if failed, ok := err.(*NodeError); ok { //nolint:errorlint // the tree is walked by hand: it may hold several
			if !slices.Contains(found, failed) {
				found = append(found, failed)
			}
			return
		}
		for _, inner := range unwrap(err) {
			walk(inner)
		}
	}
	walk(err)
	return found
}

// unwrap returns what err wraps directly.
func unwrap(err error) []error {
	switch e := err.(type) { //nolint:errorlint // err itself is taken apart
	case interface{ WrappedErrors() []error }: // go-multierror, whose Unwrap returns the first alone
		return e.WrappedErrors()
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}
	default:
		return nil
	}
}
