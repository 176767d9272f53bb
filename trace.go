package redlock

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// Trace is a set of hooks, as in net/http/httptrace. Any hook may be nil. Later versions may add hooks, and fields to
// the events.
//
// An acquisition is a call that acquires a lock of any kind: Lock, TryLock, Acquire and so on. Each has an ID
// that is unique in its Locker, one AcquireStart and one AcquireEnd. If it acquired the lock, the hold has the same ID
// and one HoldEnd. HoldEnd returns before the Locker asks the masters to release the lock, and before the AcquireEnd of
// the caller that the lock is handed over to. Calls with invalid arguments have no events.
//
// The context is that of the call. Events that may come after the call (Vote, Extended, HoldEnd) get a context with the
// values of the context that the lock was acquired with, but without its cancellation and deadline.
//
// The Locker calls the hooks synchronously, without a mutex, and from several goroutines at the same time. A hook must
// return quickly and be safe for concurrent use. It may call methods that ask no master, such as [Locker.Stats] and
// [Lock.Err], but must not wait for the masters: it may run in the goroutine that receives their replies.
type Trace struct {
	// AcquireStart is called when a call begins to acquire a lock.
	AcquireStart func(context.Context, AcquireStartEvent)
	// Waiting is called when an attempt of a waiting call failed, before the call pauses until the next one. Of the calls
	// that wait in one queue only one pauses; the others wait for it and have no event.
	Waiting func(context.Context, WaitingEvent)
	// AcquireEnd is called when a call that acquires a lock ends, with or without the lock.
	AcquireEnd func(context.Context, AcquireEndEvent)
	// Extended is called when an extension, by the keepalive or by [Lock.Extend], succeeded or failed. It may come after
	// HoldEnd. It is not called if the lock had ended before the extension did, as by an Unlock.
	Extended func(context.Context, ExtendedEvent)
	// HoldEnd is called when a lock ends: immediately before it is released or handed over, or when it is lost or its
	// Locker is closed.
	HoldEnd func(context.Context, HoldEndEvent)
	// Unlocked is called when an Unlock ends.
	Unlocked func(context.Context, UnlockedEvent)
	// Vote is called when a request to one master ends. It may come after AcquireEnd and HoldEnd.
	Vote func(context.Context, VoteEvent)
	// Node is called when a master stops answering or answers again.
	Node func(NodeEvent)
}

// Outcome says how an acquisition or a hold ended.
type Outcome string

// The outcomes of an acquisition, and then those of a hold. [OutcomeClosed] can end both.
const (
	// OutcomeAcquired: the call returned the lock.
	OutcomeAcquired Outcome = "acquired"
	// OutcomeRefused: a TryLock returned ErrHeld.
	OutcomeRefused Outcome = "refused"
	// OutcomeTimedOut: the deadline of the caller's context passed.
	OutcomeTimedOut Outcome = "timed_out"
	// OutcomeCanceled: the caller's context was canceled.
	OutcomeCanceled Outcome = "canceled"
	// OutcomeFailed: every other error, such as ErrNoQuorum from a TryLock. It is also the outcome if a hook panicked.
	OutcomeFailed Outcome = "failed"
	// OutcomeClosed: the Locker was closed.
	OutcomeClosed Outcome = "closed"

	// OutcomeReleased: Unlock ended the hold, and the lock is being released on the masters.
	OutcomeReleased Outcome = "released"
	// OutcomeHandedOver: Unlock ended the hold, and the next caller of this Locker has the lock.
	OutcomeHandedOver Outcome = "handed_over"
	// OutcomeLost: the lock was lost.
	OutcomeLost Outcome = "lost"
)

// Event is what the events of one acquisition, and of the hold that it leads to, have in common.
type Event struct {
	// ID is unique in the Locker.
	ID   uint64
	Kind Kind
	// Name is what [Lock.Name] returns.
	Name string
}

// CallType says whether an acquisition waits.
type CallType string

// The types of calls.
const (
	// CallLock: the call waits for the lock, like [Locker.Lock].
	CallLock CallType = "lock"
	// CallTryLock: the call does not wait, like [Locker.TryLock].
	CallTryLock CallType = "trylock"
)

// AcquireStartEvent is the start of an acquisition.
type AcquireStartEvent struct {
	Event
	Call CallType
}

// WaitingEvent is a failed attempt of an acquisition that goes on.
type WaitingEvent struct {
	Event
	// Attempts is how many attempts the call has made. Each slot of a semaphore that it asks for is one.
	Attempts int
	// Delay is how long the call waits before the next attempt, unless a release message ends the wait earlier.
	Delay time.Duration
	// Err is why the attempt failed.
	Err error
}

// AcquireEndEvent is the end of an acquisition.
type AcquireEndEvent struct {
	Event
	Call CallType
	// Outcome is acquired, refused, timed_out, canceled, failed or closed.
	Outcome Outcome
	// Took is the time since AcquireStart.
	Took time.Duration
	// Attempts is how many attempts the call made; see [WaitingEvent]. If it is 0 and the Outcome is acquired, the lock
	// was handed over (see [WithoutHandOver]).
	Attempts int
	// Fence is the lock's fencing token; 0 if there is none.
	Fence uint64
	// Err is the error that the call returns; nil if the Outcome is acquired.
	Err error
}

// ExtendedEvent is the end of an extension.
type ExtendedEvent struct {
	Event
	// Until is when the lock ends now.
	Until time.Time
	// Err is why the extension failed; nil if it succeeded.
	Err error
}

// HoldEndEvent is the end of a hold.
type HoldEndEvent struct {
	Event
	// Outcome is released, handed_over, lost or closed.
	Outcome Outcome
	// Held is the time since AcquireEnd.
	Held time.Duration
	// Err is what [Lock.Err] returns if the lock was lost or closed; otherwise nil.
	Err error
}

// UnlockedEvent is the end of an Unlock. A lock may have any number of them.
type UnlockedEvent struct {
	Event
	// Took is how long the Unlock took.
	Took time.Duration
	// Err is the error that the Unlock returns.
	Err error
}

// VoteEvent is the end of a request to one master.
type VoteEvent struct {
	// Event has no ID and no Kind if the request belongs to no acquisition, as with Inspect and Nodes.
	Event
	// Node is the master's address.
	Node    string
	Op      Op
	Verdict Verdict
	// Fence is the fencing token with which the master granted an acquire, or its counter after a raise; 0 otherwise.
	Fence uint64
	// Took is the time from the request to the vote.
	Took time.Duration
	// Err is why the verdict is failed or unknown.
	Err error
}

// Op is what a master was asked to do.
type Op string

// The requests to a master.
const (
	OpAcquire  Op = "acquire"  // set the keys of a lock
	OpRaise    Op = "raise"    // raise the counter of fencing tokens
	OpExtend   Op = "extend"   // set the TTL again
	OpRelease  Op = "release"  // delete the keys, or keep them for the rest of the minimum hold
	OpProbe    Op = "probe"    // find out which lock blocks a waiting call, and leave its intent
	OpWithdraw Op = "withdraw" // delete what a waiting call left
	OpAnnounce Op = "announce" // wake waiting callers
	OpInspect  Op = "inspect"  // see [Locker.Inspect]
	OpStatus   Op = "status"   // see [Locker.Nodes]
)

// Verdict is a master's answer to a request, or that there is none.
type Verdict string

// The verdicts.
const (
	VerdictGranted Verdict = "granted" // it was executed, with success
	VerdictDenied  Verdict = "denied"  // it was executed, without success: the name is taken, or the token is gone
	VerdictFailed  Verdict = "failed"  // it was certainly not executed
	VerdictUnknown Verdict = "unknown" // it may have been executed
)

// NodeEvent is a change of a master's health: it stopped answering if State is NodeSuspect, and otherwise it answers
// again. Err is then nil unless the master may not vote, as after a restart.
type NodeEvent struct{ NodeState }

// voted returns the function that a quorum calls with every vote; nil if there is no Vote hook.
func (t *Trace) voted() func(string, *wire.Op, wire.Vote) {
	if !t.votes() {
		return nil
	}
	return func(master string, op *wire.Op, v wire.Vote) {
		e := VoteEvent{
			Event: Event{Name: op.Lock},
			Node:  master, Op: Op(op.Name), Verdict: Verdict(v.Verdict.String()), Took: v.Took, Err: v.Err,
		}
		ctx := context.Background()
		if o := op.Origin; o != nil {
			ctx, e.ID, e.Kind = o.Context, o.ID, Kind(o.Kind)
			if o.Fencing && v.Verdict == wire.Granted && (e.Op == OpAcquire || e.Op == OpRaise) {
				e.Fence = uint64(v.Number)
			}
		}
		t.Vote(ctx, e)
	}
}

// votes reports whether there is a Vote hook.
func (t *Trace) votes() bool { return t != nil && t.Vote != nil }

// origin returns the mark that tells the Vote hook to which acquisition or hold a request belongs; nil without a hook.
// ctx is the context that the hook gets. k is nil if the request belongs to neither.
func (c *config) origin(ctx context.Context, id uint64, k *kind.Kind) *wire.Origin {
	if !c.trace.votes() {
		return nil
	}
	o := &wire.Origin{Context: context.WithoutCancel(ctx), ID: id, Fencing: c.terms.Fencing}
	if k != nil {
		o.Kind = k.Name
	}
	return o
}
