package redlock

import (
	"errors"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/histogram"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
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

	// Granted, Denied, Failed and Unknown count the master's votes by verdict, over all operations. Denied does not count
	// a release that finds nothing to release, or an inspection of a held name. A Failed request was certainly not
	// executed; an Unknown one may have been.
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
		Granted:   s.Votes[wire.Granted], Denied: s.Votes[wire.Denied],
		Failed: s.Votes[wire.Failed], Unknown: s.Votes[wire.Unknown],
		Dropped: s.Dropped, Latency: histogramOf(&s.Latency),
		Queued: s.Queued, InFlight: s.InFlight, Batches: s.Batches, Requests: s.Requests,
		Unconfirmed: s.Unconfirmed, Duplicates: l.quorum.Duplicates(index),
	}
}

// activity counts the acquisitions and holds of a Locker, by kind. One mutex guards all counters, so that a snapshot is
// consistent. It is never held for longer than a few assignments.
type activity struct {
	mu     sync.Mutex
	lastID uint64
	kinds  []kindActivity // in the order of kind.All
}

// kindActivity counts the acquisitions and holds of one kind.
type kindActivity struct {
	counts       LockStats // its histograms are unused
	waits, holds histogram.Histogram
}

func newActivity() activity { return activity{kinds: make([]kindActivity, len(kind.All))} }

// of returns the counters of a kind. a.mu must be held.
func (a *activity) of(k *kind.Kind) *kindActivity {
	for i := range kind.All {
		if kind.All[i].Name == k.Name {
			return &a.kinds[i]
		}
	}
	panic("redlock: the kind " + k.Name + " is not in the table of kinds")
}

// start counts an acquisition and returns its id.
func (a *activity) start(k *kind.Kind) (id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.of(k).counts
	c.Started++
	c.Waiting++
	a.lastID++
	return a.lastID
}

// end counts the end of an acquisition, and the hold that it leads to.
func (a *activity) end(k *kind.Kind, o Outcome, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.of(k)
	c.counts.Waiting--
	*c.counts.acquisitions(o)++
	if o == OutcomeAcquired {
		c.counts.Held++
		c.waits.Observe(took)
	}
}

// holdEnd counts the end of a hold.
func (a *activity) holdEnd(k *kind.Kind, o Outcome, held time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.of(k)
	c.counts.Held--
	*c.counts.holds(o)++
	c.holds.Observe(held)
}

// extension counts an extension that ended with err. It does not count one that the end of its lock stopped.
func (a *activity) extension(k *kind.Kind, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.of(k).counts.Extended++
	case !errors.Is(err, quorum.ErrEnded):
		a.of(k).counts.ExtensionFailures++
	}
}

// present returns how many acquisitions are in progress, and how many locks are held.
func (a *activity) present() (waiting, held int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.kinds {
		waiting += a.kinds[i].counts.Waiting
		held += a.kinds[i].counts.Held
	}
	return waiting, held
}

// stats returns a consistent snapshot of all counters.
func (a *activity) stats() (s Stats) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var total kindActivity
	for i, k := range kind.All {
		s.Kinds = append(s.Kinds, KindStats{Kind: Kind(k.Name), LockStats: a.kinds[i].stats()})
		total.add(&a.kinds[i])
	}
	s.LockStats = total.stats()
	return s
}

// stats returns the counters with their histograms.
func (k *kindActivity) stats() LockStats {
	s := k.counts
	s.Waits, s.Holds = histogramOf(&k.waits), histogramOf(&k.holds)
	return s
}

// add adds the figures of another kind.
func (k *kindActivity) add(other *kindActivity) {
	for i, n := range other.counts.counters() {
		*k.counts.counters()[i] += *n
	}
	k.waits.Add(&other.waits)
	k.holds.Add(&other.holds)
}

// counters returns all numbers of s.
func (s *LockStats) counters() []*int64 {
	return []*int64{
		&s.Waiting, &s.Held, &s.Started,
		&s.Acquired, &s.Refused, &s.TimedOut, &s.Canceled, &s.Failed, &s.ClosedWaiting,
		&s.Released, &s.HandedOver, &s.Lost, &s.ClosedHeld,
		&s.Extended, &s.ExtensionFailures,
	}
}

// acquisitions returns the counter of the acquisitions with an outcome.
func (s *LockStats) acquisitions(o Outcome) *int64 {
	switch o {
	case OutcomeAcquired:
		return &s.Acquired
	case OutcomeRefused:
		return &s.Refused
	case OutcomeTimedOut:
		return &s.TimedOut
	case OutcomeCanceled:
		return &s.Canceled
	case OutcomeClosed:
		return &s.ClosedWaiting
	default:
		return &s.Failed
	}
}

// holds returns the counter of the holds with an outcome.
func (s *LockStats) holds(o Outcome) *int64 {
	switch o {
	case OutcomeHandedOver:
		return &s.HandedOver
	case OutcomeLost:
		return &s.Lost
	case OutcomeClosed:
		return &s.ClosedHeld
	default:
		return &s.Released
	}
}

func histogramOf(h *histogram.Histogram) Histogram {
	bounds, counts := histogram.Bounds, h.Counts
	return Histogram{Count: h.Count(), Sum: h.Sum, Bounds: bounds[:], Counts: counts[:]}
}
