// Package waitqueue lets the callers of one process wait for locks in the order of their calls. There is one queue for
// each lock. Only the head of a queue asks the masters, and only while this process does not hold the lock.
//
// The package has three parts. A queue has a [phase], which [transition] changes. The policy in cohort.go decides how
// long a process passes a lock among its own callers. [Contention] decides when a waiter asks again after an attempt
// that failed. The package knows neither masters nor kinds of locks.
package waitqueue

import (
	"fmt"
	"sync"
	"time"
)

// Queues holds the queues of one process. It is safe for concurrent use.
type Queues struct {
	now    func() time.Time
	listen func(names []string) Subscription
	held   func(name, kind string) error

	mu     sync.Mutex // not held while effects run
	byKey  map[queueKey]*queue
	yields yields
}

// Config is what Queues needs from its user.
type Config struct {
	Now func() time.Time
	// Listen subscribes to the releases of names.
	Listen func(names []string) Subscription
	// HeldError makes the error of a TryLock on a name that this process holds with a lock of a kind.
	HeldError func(name, kind string) error
}

// New returns Queues without waiters.
func New(c Config) *Queues {
	return &Queues{now: c.Now, listen: c.Listen, held: c.HeldError, byKey: make(map[queueKey]*queue)}
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
	Key
	reentrant bool
}

// effects are the consequences of an event that must run without Queues.mu: they ask the masters, and may call the
// hooks of the user.
type effects struct {
	publish Lock         // the lock whose release was silent and is now to be published
	release Lock         // the lock whose lease was given to a waiter that gave up
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

// Join adds a caller to the end of its queue. If the state of the queue answers a TryLock, Join returns that error
// instead.
func (qs *Queues) Join(r Request) (*Waiter, error) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q := qs.queueFor(r)
	if r.Try {
		switch q.phase {
		case held, passing:
			return nil, q.heldError()
		case denied:
			return nil, q.reason
		}
	}
	w := &Waiter{Request: r, queue: q, wakeups: make(chan Wakeup, 1)}
	if r.Owner != "" && !r.Alone {
		w.nudges = make(chan struct{}, 1)
	}
	q.push(w)
	q.apply(joined)
	if q.headNeedsTurn() {
		q.give(Wakeup{Action: Ask, Delay: qs.yield(w)})
	}
	return w, nil
}

// queueFor returns the queue for a request. It makes one if there is none, or if the caller waits alone.
func (qs *Queues) queueFor(r Request) *queue {
	key := queueKey{r.Key, r.Owner != ""}
	if q := qs.byKey[key]; q != nil && !r.Alone {
		return q
	}
	q := &queue{all: qs, key: key, names: r.Names, phase: idle, tries: waitList{sort: byTry}}
	if !r.Alone {
		qs.byKey[key] = q
	}
	return q
}

// yield returns how long a waiter must wait until its lock is no longer yielded to other processes. A TryLock does not
// wait.
func (qs *Queues) yield(w *Waiter) time.Duration {
	if w.Try || w.Reader {
		return 0
	}
	return qs.yields.remaining(w.Key, qs.now)
}

// heldError returns the error of a TryLock while this process holds the lock.
func (q *queue) heldError() error { return q.all.held(q.names[0], q.kind) }

func (q *queue) leave(w *Waiter) effects {
	switch {
	case !q.remove(w):
		return effects{}
	case !w.hasTurn:
		q.apply(left)
		return q.clean()
	}
	q.apply(headLeft)
	e := q.clean()
	e.release = w.inherit
	if q.phase == asking {
		e.publish = q.turnAfterLeave()
	}
	return e
}

// turnAfterLeave gives the turn to the head after another waiter gave it up. It returns the lock whose silent release
// is to be published; nil if there is none.
func (q *queue) turnAfterLeave() (publish Lock) {
	head, from := q.waiting.first, q.unpublished
	if from == nil {
		q.give(Wakeup{Action: Ask, Delay: q.all.yield(head)})
		return nil
	}
	turn, over := q.silentCohort.afterSilence(
		from.Policy(), head.Policy, head.Try, q.remoteWaiters, q.all.yield(head), q.all.now())
	q.give(turn)
	if !over {
		return nil
	}
	return q.takeUnpublished()
}

func (q *queue) failed(w *Waiter, err error, heldElsewhere bool) (e effects) {
	q.apply(failed)
	q.reason, w.cohort = err, cohort{}
	q.failTryLocks(err)
	if !heldElsewhere {
		e.publish = q.takeUnpublished()
	}
	return e
}

func (q *queue) granted(w *Waiter, h *Hold, c cohort) effects {
	q.remove(w)
	if w.hasTurn {
		q.apply(granted)
	} else {
		q.apply(grantedAside)
	}
	*h = Hold{queue: q, cohort: c}
	q.kind, q.newest, q.reason, q.unpublished = w.Kind, h, nil, nil
	if w.Owner == "" {
		q.holds = 1
	} else {
		q.holds++
		q.all.yields.clear(w.Key) // the other processes had their turn; the owner's further holds do not yield
		q.all.nudge(w.Key, w.Owner)
	}
	if q.tries.first != nil {
		q.failTryLocks(q.heldError())
	}
	return q.clean()
}

// released records that a lock no longer holds what the queue is for. If it was the last one, the head gets the turn.
func (q *queue) released(turn Wakeup) effects {
	if q.holds--; q.holds > 0 {
		return effects{}
	}
	q.newest = nil
	q.apply(released)
	if q.phase == asking && q.headNeedsTurn() {
		q.give(turn)
	}
	return q.clean()
}

// clean removes what a queue without waiters no longer needs.
func (q *queue) clean() (e effects) {
	if q.waiting.first != nil {
		return effects{}
	}
	e.stop, q.subscription = q.subscription, nil
	if q.phase != idle {
		return e
	}
	if q.all.byKey[q.key] == q {
		delete(q.all.byKey, q.key)
	}
	e.publish = q.takeUnpublished()
	return e
}
