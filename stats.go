package redlock

import (
	"time"

	"github.com/redlock-go/redlock/node"
)

// Stats is what a Locker has counted since it was opened, and its present state. See [Locker.Stats].
type Stats struct {
	// LockStats are the totals of all kinds.
	LockStats
	// Kinds has one row per kind of lock, used or not, in a fixed order.
	Kinds []KindStats
	// Nodes has one row per master, in the order in which they were given.
	Nodes []NodeStats
}

// Kind is a kind of lock.
type Kind string

// The kinds of locks.
const (
	KindMutex     Kind = "mutex"     // of [Locker.Lock], TryLock, LockAll and TryLockAll
	KindReader    Kind = "reader"    // of [RW.RLock] and TryRLock
	KindWriter    Kind = "writer"    // of [RW.Lock] and TryLock
	KindReentrant Kind = "reentrant" // of [Reentrant.Lock] and TryLock
	KindSemaphore Kind = "semaphore" // of [Semaphore.Acquire] and TryAcquire
)

// KindStats are the figures of one kind of lock.
type KindStats struct {
	Kind Kind
	LockStats
}

// LockStats counts holds, and acquisitions, which are calls with valid arguments that acquire a lock of any kind: Lock,
// TryLock, RLock, Acquire, LockAll and so on. In one snapshot they add up:
//
//	Started = Waiting + Acquired + Refused + TimedOut + Canceled + Failed + ClosedWaiting
//	Acquired = Held + Released + HandedOver + Lost + ClosedHeld
//	Waits.Count = Acquired
//	Holds.Count = Acquired - Held
type LockStats struct {
	// Waiting is how many acquisitions are in progress. Held is how many locks are held.
	Waiting, Held int64

	// Started is how many acquisitions have begun.
	Started int64
	// Acquired, Refused, TimedOut, Canceled, Failed and ClosedWaiting are how many of them have ended with each
	// [Outcome]. ClosedWaiting counts OutcomeClosed.
	Acquired, Refused, TimedOut, Canceled, Failed, ClosedWaiting int64

	// Released, HandedOver, Lost and ClosedHeld are how many holds have ended with each [Outcome]. ClosedHeld counts
	// OutcomeClosed. A lost lock is lost once: its Unlock counts nothing.
	Released, HandedOver, Lost, ClosedHeld int64

	// Extended and ExtensionFailures are how many extensions, by the keepalive or by [Lock.Extend], succeeded and
	// failed. An extension that was still in progress when its lock ended may count in neither.
	Extended, ExtensionFailures int64

	// Waits has the durations of the acquisitions that acquired the lock, and Holds those of the holds that have ended.
	Waits, Holds Histogram
}

// Histogram counts durations in fixed buckets, from 100 µs to an hour.
type Histogram struct {
	// Count is the number of durations, and Sum their sum.
	Count int64
	Sum   time.Duration
	// Bounds are the inclusive upper bounds of the buckets, in ascending order.
	Bounds []time.Duration
	// Counts has the number of durations in each bucket, and at its end the number of those above the last bound.
	Counts []int64
}

// NodeStats are the figures of one master, as the Locker sees it from earlier requests.
type NodeStats struct {
	NodeState

	// Granted, Denied, Failed and Unknown count the master's votes by verdict, over all operations. Denied are refusals: a
	// release that finds nothing to release, and an inspection of a held name, do not count. Failed is certainly not
	// executed; Unknown may have been executed.
	Granted, Denied, Failed, Unknown int64
	// Dropped is how many requests were not sent because their round had ended. This is normal.
	Dropped int64
	// Latency has the times from the request to the vote, for Granted and Denied votes.
	Latency Histogram

	// Queued is how many requests wait to be written to the master, and InFlight how many were written and have no reply.
	Queued, InFlight int
	// Batches is how many batches of requests were written, and Requests how many requests. Requests/Batches is the mean
	// size of a batch.
	Batches, Requests int64
	// Unconfirmed is how many releases the master has not confirmed within the node timeout, or must execute again because
	// a late delivery is possible. They are repeated.
	Unconfirmed int
	// Duplicates is how many rounds found that this master and another one are the same server, which has one vote.
	Duplicates int64
}

// Stats returns what the Locker has counted so far. It asks no master. The LockStats of all kinds are one consistent
// snapshot; the NodeStats are read right after it. Stats may be called at any time, also after Close.
func (l *Locker) Stats() Stats {
	s := l.activity.stats()
	for i := range l.masters {
		s.Nodes = append(s.Nodes, l.nodeStats(i))
	}
	return s
}

func (l *Locker) nodeStats(index int) NodeStats {
	n := l.masters[index]
	s := n.Stats()
	return NodeStats{
		NodeState: l.nodeState(n.Name(), s),
		Granted:   s.Votes[node.Granted], Denied: s.Votes[node.Denied],
		Failed: s.Votes[node.Failed], Unknown: s.Votes[node.Unknown],
		Dropped: s.Dropped, Latency: histogramOf(&s.Latency),
		Queued: s.Queued, InFlight: s.InFlight, Batches: s.Batches, Requests: s.Requests,
		Unconfirmed: s.Unconfirmed, Duplicates: l.quorum.Duplicates(index),
	}
}
