package redlock

import (
	"errors"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/histogram"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/quorum"
)

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

// extension counts an extension that ended with err. An extension is not counted if its lock ended first.
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
