// Package waitqueue lets the callers of one Locker, called a process here, wait for locks in the order of their calls.
// There is one queue for each lock.
//
// A lock has a width: how many callers may hold it at the same time. A mutex has 1, a semaphore its slots, readers
// [Unbounded]. At first, a queue lets as many callers ask the masters as there is free width: the width minus the holds
// of this process. After a failed attempt only one caller asks, usually the first in line, apart from those that ask
// out of turn. It watches: it probes who holds the lock, and waits for a release, or for the back-off, before it asks
// again. Each grant to a caller that did not watch lets one more caller ask; a grant to a reader lets all ask.
//
// A [Waiter] is a caller in its queue. It has a [state], and learns from [Waiter.Next] what to do. An event changes the
// state of some waiters or a count of the [queue]; queue.advance then restores what must always be true. The policy in
// cohort.go decides how long a process passes a lock among its own callers; yield.go limits a process to its share
// while other processes wait. A [Hold] is an acquired lock: HandOver decides how the next caller gets it.
//
// A caller uses Join, then Next until that says Ask or Inherit, then Granted or Inherited, which fill in its Hold. It
// ends with HandOver and Released, and with Published once the subscribers are known. Failed and Pause return to Next;
// Leave gives up. The package never asks a master itself.
package waitqueue

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// Queues holds the queues of one process. It is safe for concurrent use.
type Queues struct {
	Config

	mu        sync.Mutex
	byKey     map[queueKey]*queue
	cooldowns cooldowns
	home      int      // see slots.home
	effects   []func() // what the current event leaves to do without mu: ask the masters, call hooks
}

// Config is what Queues needs from its user. The functions are called with the mutex of Queues locked: they must return
// quickly and must not call Queues.
type Config struct {
	Now func() time.Time
	// Listen subscribes to the releases of names. The subscription calls news later, with no mutex held, when its Take may
	// return true.
	Listen func(names []string, news func()) Subscription
	// HeldError makes the error that says that this process holds a name, with a lock of a kind. holder is the Holder of
	// the request that acquired it.
	HeldError func(name, kind, holder string) error
}

// New returns Queues without waiters.
func New(c Config) *Queues {
	return &Queues{Config: c, byKey: make(map[queueKey]*queue)}
}

// Subscription is a subscription for the releases of a lock. Queues calls Take with its mutex locked, and Stop
// without it.
type Subscription interface {
	// Take reports whether the lock may have been released since the last Take that returned true.
	Take() bool
	Stop()
}

// Unbounded is the Width of a lock that any number of callers may hold.
const Unbounded = math.MaxInt32

// Request is the lock that a caller wants, and how the caller waits for it.
type Request struct {
	Names []string // sorted; more than one only of a LockAll
	Kind  string   // the kind of lock, for errors
	Owner string   // the owner of a reentrant lock; "" for every other kind

	Holder string // names the caller, for the errors of others

	Width   int  // how many callers may hold the lock at the same time; see [Unbounded]
	Slotted bool // the lock is a slot of a semaphore
	Try     bool // a TryLock: it does not wait for a lock that is held
	Policy  Policy
}

// asksOutOfTurn reports whether the caller first asks the masters without a turn. The owner of a reentrant lock may
// hold it already, perhaps in another process. If it waited in line after a caller of another owner, it would wait for
// a release by its own owner. The TryLock of a reader overtakes no other caller: readers do not exclude each other.
func (r *Request) asksOutOfTurn() bool { return r.Owner != "" || (r.Try && r.Width == Unbounded) }

// queueKey identifies a queue. Mutexes and writers of one name share a queue. The callers of different queues compete
// at the masters. Callers that disagree about the number of slots learn that from the masters.
type queueKey struct {
	names                       string
	width                       int32
	several, slotted, reentrant bool
}

// key returns the key of the queue of the request.
func (r *Request) key() queueKey {
	names, several := r.Names[0], len(r.Names) > 1
	if several {
		names = fmt.Sprintf("%q", r.Names) // other names have another text
	}
	return queueKey{
		names: names, several: several, width: int32(r.Width), slotted: r.Slotted, reentrant: r.Owner != "",
	}
}

// Join adds a caller to the end of its queue. A TryLock that must fail at once does not join: Next returns Fail. w must
// be the zero Waiter, or one that has left its queue.
func (qs *Queues) Join(w *Waiter, r Request) {
	*w = Waiter{Request: r}
	key := r.key() // without the mutex: the text of many names is long
	qs.handle(func() {
		q, outOfTurn := qs.queueFor(key), w.asksOutOfTurn()
		w.queue = q
		if w.Try && !outOfTurn {
			if w.err = q.tryError(w); w.err != nil {
				w.become(gone)
				return
			}
		}
		w.become(waiting)
		q.callers.push(w)
		if outOfTurn {
			q.askOutOfTurn(w)
		}
		q.advance()
	})
}

// queueFor returns the queue with a key. It makes one if there is none.
func (qs *Queues) queueFor(key queueKey) *queue {
	if q := qs.byKey[key]; q != nil {
		return q
	}
	q := &queue{all: qs, key: key, width: int(key.width), news: 1, urgent: 1} // above the seen of a new caller: it asks
	q.limit = q.width
	if key.slotted {
		q.slots = &slots{total: q.width, home: &qs.home, used: map[int]bool{}}
	}
	q.cooldown = qs.cooldowns.get(key, qs.Now)
	qs.byKey[key] = q
	return q
}

// handle calls f, which handles an event, with the mutex locked, and then runs the effects of the event, the last one
// first. Their order does not matter. A panic of f or of an effect skips no effect.
func (qs *Queues) handle(f func()) {
	qs.mu.Lock()
	defer func() {
		effects := qs.effects
		qs.effects = nil
		qs.mu.Unlock()
		for _, effect := range effects {
			defer effect()
		}
	}()
	f()
}

// after has an effect run after the event.
func (qs *Queues) after(effect func()) { qs.effects = append(qs.effects, effect) }
