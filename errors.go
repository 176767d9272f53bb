package redlock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/names"
	"github.com/redlock-go/redlock/quorum"
)

// The reasons why an operation fails. Find them with errors.Is, whatever wraps them. The text of an error names
// the operation and the lock, and then the reason; that of an [ErrNoQuorum] also names each master that failed, and
// how. The text shows only some of many names, and only the beginning of a long one; [Lock.Name] and [HeldError] have
// all.
var (
	// ErrHeld: another holder has the lock. [HeldError] has the details.
	ErrHeld = errors.New("redlock: the lock is held by another")
	// ErrNoQuorum: no majority of the masters agreed in time, or fewer than a majority may vote. If an acquisition
	// failed, every key that it may have set is being released. If an extension failed, the lock is held as before. If
	// an Unlock failed, the lock has ended, and its release continues in the background. [NodeErrors] returns the
	// masters' errors.
	ErrNoQuorum = quorum.ErrNoQuorum
	// ErrLost: the lock expired or was taken while it was held. Stop what it protects, then call Unlock, which frees
	// the name early. Assume that another holder has run: since Until if the lock expired; if a majority of the masters
	// no longer holds the token, since the last successful extension, or since the acquisition if there was none.
	ErrLost = errors.New("redlock: the lock was lost")
	// ErrReleased: this handle was unlocked before and holds nothing.
	ErrReleased = errors.New("redlock: the lock was released")
	// ErrClosed: the Locker was closed.
	ErrClosed = errors.New("redlock: the locker is closed")
)

// HeldError reports that another holder has the lock. It matches [ErrHeld] and wraps no error. It is always returned as
// a pointer.
type HeldError struct {
	// Name is the name that is held; for LockAll, one of the names.
	Name string
	// Kind is the kind of lock on the name. If the key on the masters is no lock, it is the type of the key. A reader
	// that an exclusive waiter keeps out gets KindWriter. It is "" if unknown, as a plain SET NX PX does not report it.
	Kind Kind
	// Retry is how long after the answer the holder's TTL ends; 0 if unknown. The holder may release the lock earlier,
	// or extend it. Nobody extends the rest of a minimum hold.
	Retry time.Duration
	// Holder is the owner part of the holder's token: the [WithOwner] of its Locker, or the owner of a reentrant lock.
	// Control characters are replaced. It is "" if unknown. It is known if this Locker holds the lock, and after a
	// wait for anything but a permit. Of several holders, it is the one with the longest TTL. During the rest of a
	// minimum hold, it is the last holder.
	Holder string
}

func (e *HeldError) Error() string { return failed("lock", []string{e.Name}, e).Error() }

// Is reports whether target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

func (e *HeldError) reason(of []string) string {
	text := "held by another"
	if len(of) != 1 || e.Name != of[0] {
		text = names.Quote(e.Name) + " is " + text
	}
	switch {
	case e.Holder != "" && e.Kind != "":
		text += " (" + string(e.Kind) + ", " + names.Quote(e.Holder) + ")"
	case e.Kind != "":
		text += " (" + string(e.Kind) + ")"
	case e.Holder != "":
		text += " (" + names.Quote(e.Holder) + ")"
	}
	if e.Retry > 0 {
		text += fmt.Sprintf(" for up to %v", max(time.Millisecond, e.Retry.Round(time.Millisecond)))
	}
	return text
}

// SlotsError reports that other callers hold permits of a semaphore with another number of slots. It does not match
// [ErrHeld], because waiting does not help: all callers must agree on the number.
type SlotsError struct {
	// Name is the semaphore's name.
	Name string
	// Want is the caller's number of slots, and Have the holders'.
	Want, Have int
}

func (e *SlotsError) Error() string { return failed("lock", []string{e.Name}, e).Error() }

func (e *SlotsError) reason([]string) string {
	return fmt.Sprintf("the semaphore was asked for with %d slots, but its holders have %d: give all callers one number",
		e.Want, e.Have)
}

// failure reports that an operation on names failed. why has what happened, and then its causes. The text begins with
// the package's name and the operation, and has each only once, even if a cause is a failure, too.
type failure struct {
	op    string
	names []string // none: the operation has no name
	why   []error
}

func failed(op string, about []string, why ...error) error {
	return &failure{op: op, names: about, why: why}
}

// during returns err as the failure of an operation on names, or nil if err is nil.
func during(op string, about []string, err error) error {
	if err == nil {
		return nil
	}
	return failed(op, about, err)
}

func (e *failure) Error() string {
	about := e.op
	if len(e.names) > 0 {
		about += " " + names.List(e.names, names.Quote)
	}
	return prefix + about + ": " + e.reason(e.names)
}

// Unwrap returns the reasons.
func (e *failure) Unwrap() []error { return e.why }

func (e *failure) reason(of []string) string {
	texts := make([]string, len(e.why))
	for i, err := range e.why {
		if r, ok := err.(interface{ reason(of []string) string }); ok {
			texts[i] = r.reason(of)
		} else {
			texts[i] = plain(err)
		}
	}
	return strings.Join(texts, ": ")
}

// prefix is how the text of every error begins.
const prefix = "redlock: "

// plain returns the text of an error without the prefix, for the text of another error.
func plain(err error) string { return strings.TrimPrefix(err.Error(), prefix) }

// releasedError is ErrReleased for the names of a lock. Its text is built on demand: every Unlock makes one, and few
// are ever read.
type releasedError struct{ *kind.Claim }

func (e releasedError) Error() string { return failed("lock", e.Target.Names, ErrReleased).Error() }

func (releasedError) reason([]string) string { return plain(ErrReleased) }

func (releasedError) Unwrap() error { return ErrReleased }

// NodeError is one master's failure to answer one operation: which master (its address, never its password), which
// operation, and why. [NodeErrors] returns those of a failure.
type NodeError = quorum.NodeError

// NodeErrors returns the [NodeError] of each master that failed, in the order of the masters, or nil if err contains
// none. Every [ErrNoQuorum] contains one for each master that had failed when the operation ended; one whose votes came
// too late contains none. If err joins the errors of several operations, NodeErrors returns those of one operation
// after the other. It looks through everything that err wraps, for example by [fmt.Errorf] or [errors.Join]. It returns
// an error that err contains twice only once, but two failures of one master are two errors.
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
