package redlock

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/quorum"
)

// lines holds the callers of this Locker that want a target, one line per target, in the order of their calls. Only the
// head of a line asks the masters, and only while no lock of this Locker holds the target.
type lines struct {
	quorum *quorum.Quorum

	mu     sync.Mutex // not held while callbacks run; see effects
	byKey  map[lineKey]*line
	yields yields
}

// line is the queue for one target. It exists while it has waiters or the target is held; lines.mu guards it. A reader
// has a line of its own, since readers wait only for exclusive callers. For the owners of a reentrant lock see
// owners.go.
type line struct {
	target   kind.Target
	waiting  waitList
	tries    waitList             // the TryLocks among waiting that have not had their turn
	owners   map[string]*waitList // of a reentrant lock: the waiters by owner
	held     string               // the kind of the lock of this Locker that holds the target; "": none does
	holds    int                  // how many locks of this Locker hold the target; above 1 only for one owner's holds
	holder   *Lock                // the newest of these locks
	ending   bool                 // the holder was lost and is about to be released
	refusal  error                // why the head's last attempt failed; nil: it has made none
	reason   error                // the last refusal, also of an earlier head
	rivals   bool                 // other processes waited for the target at its last release
	untold   *Lock                // the last lock, if its release was silent: not published, for a waiter of this line
	releases *quorum.Listener     // the subscription for releases; nil: there is none
}

// waiter is one caller in a line.
type waiter struct {
	turn    chan turn     // receives the waiter's turn; buffered
	nudge   chan struct{} // receives when the owner of a reentrant lock may hold it already; buffered
	target  kind.Target
	cfg     *config
	try     bool // a TryLock: it does not wait for a lock that is held
	alone   bool // it has a line of its own
	once    bool // it asks the masters once, and joins another line if they deny
	hasTurn bool
	links   [listSorts]links
}

// turn is what a waiter waits for. Without from and err, the waiter may ask the masters.
type turn struct {
	after  time.Duration // how long to wait before asking the masters
	tenure tenure        // the tenure that continues if the masters grant the first attempt
	from   *Lock         // the lock that is handed over to the waiter
	err    error         // the result of a TryLock
}

// effects are the consequences of a change that must run without lines.mu: an announcement asks the masters, and may
// call the user's Trace.
type effects struct {
	announce *Lock            // the lock whose release was silent and is now to be published
	stop     *quorum.Listener // the subscription of a line that has no waiters any more
}

func (e effects) run() {
	if e.stop != nil {
		defer e.stop.Stop()
	}
	if e.announce != nil {
		e.announce.announce()
	}
}

func (ls *lines) init(q *quorum.Quorum) {
	ls.quorum = q
	ls.byKey = make(map[lineKey]*line)
}

// join adds a caller to the end of its line. If the line's state answers a TryLock, join returns that error instead.
func (ls *lines) join(w *waiter) (*line, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := ls.lineFor(w)
	if w.try && ln.held != "" && !ln.ending {
		return nil, ln.taken()
	}
	if w.try && ln.refusal != nil {
		return nil, ln.refusal
	}
	ln.push(w)
	ls.advance(ln, turn{after: ls.yields.wait(w)})
	return ln, nil
}

// lineFor returns the line of the waiter's target. It makes one if there is none, or if the waiter is alone.
func (ls *lines) lineFor(w *waiter) *line {
	key := keyOf(w.target)
	key.owners = w.target.Kind.Nested()
	if !w.alone && ls.byKey[key] != nil {
		return ls.byKey[key]
	}
	ln := &line{target: w.target, tries: waitList{sort: byTry}}
	if !w.alone {
		ls.byKey[key] = ln
	}
	return ln
}

func (ln *line) push(w *waiter) {
	ln.waiting.push(w)
	if w.try {
		ln.tries.push(w)
	}
	ln.addOwner(w)
}

// remove removes a waiter. It reports whether the waiter was in the line, and whether it was the head.
func (ln *line) remove(w *waiter) (was, head bool) {
	head = ln.waiting.first == w
	if !ln.waiting.remove(w) {
		return false, false
	}
	ln.tries.remove(w)
	ln.removeOwner(w)
	return true, head
}

// heard records how many subscribers received the message of a release. If other processes are among them, this
// Locker yields the name until then. Otherwise the process that just released would win every race for the lock.
func (ls *lines) heard(ln *line, n int, until, now time.Time) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.releases != nil {
		n-- // this line's own subscription
	}
	ln.rivals = n > 0
	if ln.rivals {
		ls.yields.set(keyOf(ln.target), until, now)
	} else {
		ls.yields.clear(keyOf(ln.target))
	}
}

// lineKey identifies a line. Mutexes and writers of one name share a line. The reentrant lock of the name has another
// one, and so has a LockAll of several names; the callers of different lines compete at the masters.
type lineKey struct {
	several, owners bool
	names           string
}

func keyOf(t kind.Target) lineKey {
	if len(t.Names) > 1 {
		return lineKey{several: true, names: fmt.Sprintf("%q", t.Names)}
	}
	return lineKey{names: t.Names[0]}
}

// taken returns the error of a TryLock while a lock of this Locker holds the target.
func (ln *line) taken() error { return &HeldError{Name: ln.target.Names[0], Kind: ln.held} }

// leave removes a waiter that gives up from its line. If a lock was handed over to it in the meantime, leave releases
// that lock.
func (ls *lines) leave(ln *line, w *waiter) {
	ls.mu.Lock()
	was, head := ln.remove(w)
	if !was {
		ls.mu.Unlock()
		return // it has the lock, or is a TryLock that was answered
	}
	if head {
		ln.refusal = nil
	}
	var from *Lock
	select {
	case t := <-w.turn:
		from = t.from
	default:
	}
	var left effects
	if from == nil {
		left = ls.passTurn(ln)
	}
	ls.mu.Unlock()
	left.run()
	if from != nil {
		from.giveBack()
	}
}

// passTurn gives the turn to the head after another waiter left the line. If the last release was silent, the head
// continues its tenure, which does not start again. If that tenure is over, the release is published, and the head
// yields to the waiters of other processes.
func (ls *lines) passTurn(ln *line) effects {
	head, from := ln.waiting.first, ln.untold
	if head == nil || head.hasTurn || ln.held != "" {
		return ls.advance(ln, turn{}) // gives no turn
	}
	now := head.cfg.clock.Now()
	if from != nil && from.stays(head, now, leastSilence) {
		return ls.advance(ln, turn{tenure: from.tenure.next()})
	}
	gap := ls.yields.wait(head)
	if from != nil && ln.rivals && !head.try {
		gap = max(gap, from.tenure.gap(now))
	}
	told := ln.tell()
	ls.advance(ln, turn{after: gap})
	return told
}

// handOver hands the lock from over to the head of the line if from suits it, and reports whether it did. The line
// stays held.
func (ls *lines) handOver(ln *line, from *Lock, now time.Time) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	head := ln.waiting.first
	if head == nil || !from.suits(head, now) {
		return false
	}
	ls.give(ln, head, turn{from: from})
	return true
}

// won removes a waiter that has acquired the lock. The other TryLocks of the line fail.
func (ls *lines) won(ln *line, w *waiter, lock *Lock) {
	ls.mu.Lock()
	_, _ = ln.remove(w)
	k := w.target.Kind
	if !k.Nested() {
		ln.holds = 0 // it may have been handed over
	}
	ln.held, ln.refusal, ln.reason, ln.untold = k.Name, nil, nil, nil
	ln.holds++
	ln.holder, ln.ending = lock, false
	if k.Nested() { // the other processes had their turn; the owner's further holds do not yield
		ls.yields.clear(keyOf(ln.target))
		ls.nudge(w.target)
	}
	ln.failTries(ln.taken)
	left := ls.advance(ln, turn{})
	ls.mu.Unlock()
	left.run()
}

// refused records why an attempt of the head failed; the head goes on waiting. The TryLocks of the line fail with the
// same error, since they must not overtake the head. If the name is not held, refused publishes a release that was
// silent: waiters in other processes would get no message otherwise.
func (ls *lines) refused(ln *line, err error) {
	ls.mu.Lock()
	ln.refusal, ln.reason = err, err
	var left effects
	if !errors.Is(err, ErrHeld) {
		left = ln.tell()
	}
	ln.failTries(func() error { return err })
	ls.mu.Unlock()
	left.run()
}

// reasonOf returns the reason why the line waits; nil if it is not known yet.
func (ls *lines) reasonOf(ln *line) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.held != "" {
		return ln.taken()
	}
	return ln.reason
}

// failTries makes every TryLock that has not had its turn fail.
func (ln *line) failTries(why func() error) {
	if ln.tries.first == nil {
		return
	}
	err := why()
	for w := ln.tries.first; w != nil; w = ln.tries.first {
		_, _ = ln.remove(w)
		w.turn <- turn{err: err}
	}
}

// goOn reports whether the head may ask for the name before other processes do. If so, it records that from's release
// is silent.
func (ls *lines) goOn(ln *line, from *Lock, now time.Time) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	head := ln.waiting.first
	if head == nil || !from.stays(head, now, leastSilence) {
		return false
	}
	ln.untold = from
	return true
}

// markEnding records that a lost lock is about to be released. A TryLock then waits for the release instead of
// reporting that the name is held.
func (ls *lines) markEnding(ln *line, lock *Lock) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.holder == lock {
		ln.ending = true
	}
}

// ended records that a lock of this Locker no longer holds its line's target. The release must have been submitted
// before, since the request of the next waiter must follow it.
func (ls *lines) ended(ln *line, next turn) {
	ls.mu.Lock()
	ln.holds--
	var left effects
	if ln.holds <= 0 {
		ln.held, ln.holds, ln.holder, ln.ending = "", 0, nil, false
		if !ln.rivals {
			next.after = 0
		}
		left = ls.advance(ln, next)
	}
	ls.mu.Unlock()
	left.run()
}

// advance gives the turn to the head if no lock of this Locker holds the target. If the line is empty, it removes what
// is no longer needed.
func (ls *lines) advance(ln *line, t turn) (left effects) {
	head := ln.waiting.first
	if head == nil {
		left.stop, ln.releases = ln.releases, nil
		key := keyOf(ln.target)
		key.owners = ln.target.Kind.Nested()
		if ln.held == "" && ls.byKey[key] == ln {
			delete(ls.byKey, key)
		}
		if ln.held == "" {
			left.announce = ln.tell().announce
		}
		return left
	}
	if ln.held == "" && !head.hasTurn {
		ls.give(ln, head, t)
	}
	return left
}

// give gives a waiter its turn.
func (ls *lines) give(ln *line, w *waiter, t turn) {
	w.hasTurn = true
	ln.tries.remove(w)
	w.turn <- t
}

// tell returns the effect of publishing a release that was silent, because no waiter of this line continues soon.
func (ln *line) tell() (left effects) {
	left.announce, ln.untold = ln.untold, nil
	return left
}

// listen subscribes to the releases of the line's names, unless the line is subscribed already.
func (ls *lines) listen(ln *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.releases != nil {
		return
	}
	channels := make([]string, 0, len(ln.target.Names))
	for _, name := range ln.target.Names {
		channels = append(channels, kind.Channel(name))
	}
	ln.releases = ls.quorum.Listen(channels...)
}
