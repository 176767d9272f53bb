// Package waitqueue lets the callers of one process wait for locks in the order of their calls. There is one queue for
// each lock. Only the head of a queue asks the masters, and only while this process does not hold the lock. If several
// callers may hold the lock, several ask while the masters grant. While they deny, only the head does.
//
// The package has four parts. A queue has a [phase], which [transition] changes. A [pool] is a queue for a lock that
// several callers may hold: a semaphore, or a lock for readers. The policy in cohort.go decides how long a process
// passes a lock among its own callers. [Contention] decides when a waiter asks again after an attempt that failed. The
// package knows neither masters nor kinds of locks.
package waitqueue

import (
	"fmt"
	"sync"
	"time"
)

// Queues holds the queues of one process. It is safe for concurrent use.
type Queues struct {
	now       func() time.Time
	listen    func(names []string) Subscription
	heldError func(name, kind, holder string) error

	mu     sync.Mutex // not held while effects run
	byKey  map[queueKey]*queue
	yields yields

	pools map[poolKey]*pool
	idle  idlePools
}

// Config is what Queues needs from its user.
type Config struct {
	Now func() time.Time
	// Listen subscribes to the releases of names.
	Listen func(names []string) Subscription
	// HeldError makes the error of a TryLock on a name that this process holds with a lock of a kind. holder is the
	// Holder of the request.
	HeldError func(name, kind, holder string) error
}

// New returns Queues without waiters.
func New(c Config) *Queues {
	return &Queues{
		now: c.Now, listen: c.Listen, heldError: c.HeldError,
		byKey: make(map[queueKey]*queue), pools: make(map[poolKey]*pool),
	}
}

// Subscription is a subscription for the releases of a lock.
type Subscription interface{ Stop() }

// Key identifies what a lock locks: one name, or several.
type Key struct {
	names   string
	several bool
}

// KeyOf returns the key of one name, or of several sorted names.
func KeyOf(names []string) Key {
	if len(names) > 1 {
		return Key{fmt.Sprintf("%q", names), true}
	}
	return Key{names: names[0]}
}

// queueKey identifies a queue. Mutexes and writers of one name share a queue. The reentrant lock of the name has
// another queue, and so has a lock on several names; the callers of different queues compete at the masters.
type queueKey struct {
	names              string
	several, reentrant bool
}

func (k queueKey) key() Key { return Key{k.names, k.several} }

// line is where the callers that want one lock wait: a [queue] or a [pool]. Queues.mu must be held.
type line interface {
	leave(w *Waiter) effects
	failed(w *Waiter, err error, heldElsewhere bool) effects
	granted(w *Waiter, h *Hold, c cohort) effects
	// waitReason returns why w waits; nil: unknown.
	waitReason(w *Waiter) error
	// subscribed returns where the subscription to the releases is stored.
	subscribed() *Subscription
}

// effects are the consequences of an event that must run without Queues.mu: they ask the masters, and may call the
// hooks of the user.
type effects struct {
	publish Lock         // the lock whose release was silent and is now to be published
	release Lock         // the lock to release: its lease was given to a waiter that gave up
	stop    Subscription // the subscription of a queue that has no waiters any more
}

func (e effects) run() {
	if e.stop != nil {
		defer e.stop.Stop()
	}
	if e.publish != nil {
		e.publish.Publish()
	}
	if e.release != nil {
		e.release.Release()
	}
}

// Join adds a caller to the end of its queue. If the state of the queue answers a TryLock, Join returns that error, and
// the Waiter is of no use.
func (qs *Queues) Join(r Request) (*Waiter, error) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if r.Width > 0 {
		p := qs.poolFor(r)
		w := &Waiter{Request: r, all: qs, line: p, wakeups: make(chan Wakeup, 1)}
		if p.slotted() {
			w.nudges = make(chan struct{}, 1)
		}
		return w, p.join(w)
	}
	q := qs.queueFor(r)
	if r.Try {
		switch q.phase {
		case held, passing:
			return nil, q.heldError(r.Names)
		case denied:
			return nil, q.reason
		}
	}
	w := &Waiter{Request: r, all: qs, line: q, wakeups: make(chan Wakeup, 1)}
	if r.Owner != "" && !r.Alone {
		w.nudges = make(chan struct{}, 1)
	}
	q.push(w)
	q.apply(joined)
	if q.headNeedsTurn() {
		q.giveTurn(Wakeup{Action: Ask, Delay: qs.yield(w)})
	}
	return w, nil
}

// queueFor returns the queue for a request. It makes one if there is none, or if the caller waits alone.
func (qs *Queues) queueFor(r Request) *queue {
	key := queueKey{r.Key.names, r.Key.several, r.Owner != ""}
	if q := qs.byKey[key]; q != nil && !r.Alone {
		return q
	}
	q := &queue{all: qs, key: key, phase: idle, tryLocks: waitList{role: asTryLock}}
	if !r.Alone {
		qs.byKey[key] = q
	}
	return q
}

// yield returns for how long a waiter must still yield its lock to other processes. A TryLock does not yield.
func (qs *Queues) yield(w *Waiter) time.Duration {
	if w.Try {
		return 0
	}
	return qs.yields.remaining(w.Key, qs.now)
}
