package redlock

import (
	"errors"
	"fmt"
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
	// none of ours; "" if unknown (a plain SET NX PX does not tell).
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
// operation, and why. Every ErrNoQuorum carries one for each master that failed.
type NodeError = quorum.NodeError
