package redlock

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock/quorum"
)

// lines holds, per target, the callers of this Locker that want it, in the order they came. Only the head of a line
// talks to the masters, and only while nobody in this process holds it.
type lines struct {
	quorum *quorum.Quorum

	mu     sync.Mutex // no callback runs with it; see effects
	byKey  map[lineKey]*line
	yields yields
}

// line is the queue for one target. It exists while somebody stands in it or holds the target; lines.mu guards it. A reader
// has a line to itself: readers wait for nobody but exclusive callers. For the owners of a reentrant lock see owners.go.
type line struct {
	target  target
	waiting waitList
	tries   waitList             // the TryLocks among them that have not had their turn
	owners  map[string]*waitList // the callers by owner, of a reentrant lock
	held    string               // by which kind of lock of this Locker; "": not
	holds   int                  // by how many: several only of one owner
	holder  *Lock                // the last of them
	ending  bool                 // the holder was lost, and is being released
	refusal error                // what the masters answered the head last; nil: nothing yet
	reason  error                // the same, kept when that head leaves
	rivals  bool                 // others waited for it when it was released last
	untold  *Lock                // was released silently, since somebody here went on; nil: the last one was not
	wake    chan struct{}        // has room for one: a release was announced; nil before the head first listens
	stop    func()               // ends the listening; nil: not listening
}

// waiter is one caller in a line.
type waiter struct {
	turn    chan turn     // has room for the one that it gets
	nudge   chan struct{} // has room for one; of an owner's caller: the owner may have the lock already
	target  target
	cfg     *config
	try     bool // a TryLock: it does not wait for a lock that is held
	alone   bool // it has a line to itself
	once    bool // it asks the masters once, and then joins another line
	hasTurn bool
	links   [listSorts]links
}

// turn is what a waiter waits for: its turn to ask the masters, after a while, or within a tenure; or the lock itself, from its
// last holder; or, for a TryLock, the answer.
type turn struct {
	after  time.Duration
	tenure tenure // goes on, if the masters grant the first attempt
	from   *Lock
	err    error
}

// effects are what a change of a line leaves to do without the mutex: an announcement asks the masters, and may call the
// user's Trace.
type effects struct {
	announce *Lock  // its release was silent
	stop     func() // ends a line's listening
}

func (e effects) run() {
	if e.stop != nil {
		defer e.stop()
	}
	if e.announce != nil {
		e.announce.announce()
	}
}

func (ls *lines) init(q *quorum.Quorum) {
	ls.quorum = q
	ls.byKey = make(map[lineKey]*line)
}

// join puts a caller at the end of the line. A TryLock that the line can answer gets the answer.
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
	ls.advance(ln, turn{after: ls.yields.left(w)})
	return ln, nil
}

// lineFor is the line of the waiter's target, or a new one for this caller alone.
func (ls *lines) lineFor(w *waiter) *line {
	key := keyOf(w.target)
	key.owners = w.target.kind == kindReentrant
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
	ln.enroll(w)
}

// remove takes a waiter out. It reports whether it was in the line, and was its head.
func (ln *line) remove(w *waiter) (was, head bool) {
	head = ln.waiting.first == w
	if !ln.waiting.remove(w) {
		return false, false
	}
	ln.tries.remove(w)
	ln.strike(w)
	return true, head
}

// heard notes how many have heard of a release of the line's name. If others did than this line, they go first until then:
// whoever has just released is nearest to the masters' ear, and would be the next again and again.
func (ls *lines) heard(ln *line, heard int, until, now time.Time) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.stop != nil {
		heard-- // itself
	}
	ln.rivals = heard > 0
	if ln.rivals {
		ls.yields.set(keyOf(ln.target), until, now)
	} else {
		ls.yields.clear(keyOf(ln.target))
	}
}

// lineKey is the same for all who want one name alone: a mutex and a writer stand in one line. The owners of a reentrant lock
// have one beside it, and the several names of a LockAll one of their own; they meet at the masters.
type lineKey struct {
	several, owners bool
	names           string
}

func keyOf(t target) lineKey {
	if len(t.names) > 1 {
		return lineKey{several: true, names: fmt.Sprintf("%q", t.names)}
	}
	return lineKey{names: t.names[0]}
}

// taken is what a TryLock is answered while a lock of this Locker holds the target.
func (ln *line) taken() error { return &HeldError{Name: ln.target.names[0], Kind: ln.held} }

// leave takes a waiter out of its line without the lock. One that was handed to it meanwhile is released.
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
		left = ls.leftTo(ln)
	}
	ls.mu.Unlock()
	left.run()
	if from != nil {
		from.release(nil)
	}
}

// leftTo gives the turn to the head now that another has left. The head goes on in the tenure of a release that was silent,
// which does not begin again. When that is over, those who wait elsewhere are told, and go first.
func (ls *lines) leftTo(ln *line) effects {
	head, from := ln.waiting.first, ln.untold
	if head == nil || head.hasTurn || ln.held != "" {
		return ls.advance(ln, turn{}) // which nobody gets
	}
	now := head.cfg.clock.Now()
	if from != nil && from.stays(head, now, leastSilence) {
		return ls.advance(ln, turn{tenure: from.tenure.next()})
	}
	gap := ls.yields.left(head)
	if from != nil && ln.rivals && !head.try {
		gap = max(gap, from.tenure.gap(now))
	}
	told := ln.tell()
	ls.advance(ln, turn{after: gap})
	return told
}

// handOver gives the head the lock that from was, if it suits. The line stays held.
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

// won takes a waiter out of the line with a lock. Every TryLock behind it has its answer.
func (ls *lines) won(ln *line, w *waiter, lock *Lock) {
	ls.mu.Lock()
	_, _ = ln.remove(w)
	kind := w.target.kind
	if kind != kindReentrant {
		ln.holds = 0 // it may have been handed over
	}
	ln.held, ln.refusal, ln.reason, ln.untold = kind, nil, nil, nil
	ln.holds++
	ln.holder, ln.ending = lock, false
	if kind == kindReentrant { // others had their turn; the owner's further holds wait for nobody
		ls.yields.clear(keyOf(ln.target))
		ls.nudge(w.target)
	}
	ln.failTries(ln.taken)
	left := ls.advance(ln, turn{})
	ls.mu.Unlock()
	left.run()
}

// refused notes what the masters answered a head that goes on waiting. It answers every TryLock behind it, which must not
// overtake. If nobody holds the name, those who wait elsewhere are told of a release that was silent: they would hear of none. A master
// that is silent itself tells nobody.
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

// reasonOf is what the line is waiting for; nil if nobody knows yet.
func (ls *lines) reasonOf(ln *line) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.held != "" {
		return ln.taken()
	}
	return ln.reason
}

// failTries answers every TryLock that has not had its turn.
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

// goOn reports whether the head may have the name next although others wait, and if so notes that from's release is silent.
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

// endingOf notes that a lost lock is about to be released. A TryLock waits for that, and is not told that the name is held.
func (ls *lines) endingOf(ln *line, lock *Lock) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.holder == lock {
		ln.ending = true
	}
}

// ended says that a lock of this Locker no longer holds its line's target. Its release must have been submitted: the next
// in line asks behind it.
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

// advance gives the turn to the head if the name is free here, and clears away what nobody needs.
func (ls *lines) advance(ln *line, t turn) (left effects) {
	head := ln.waiting.first
	if head == nil {
		left.stop, ln.stop = ln.stop, nil
		key := keyOf(ln.target)
		key.owners = ln.target.kind == kindReentrant
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

// tell has a release announced that was silent: whoever was to go on does not, or not soon.
func (ln *line) tell() (left effects) {
	left.announce, ln.untold = ln.untold, nil
	return left
}

// listen begins to listen for releases of the line's names, unless it does already.
func (ls *lines) listen(ln *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.stop != nil {
		return
	}
	if ln.wake == nil {
		ln.wake = make(chan struct{}, 1)
	}
	wake := ln.wake
	var stops []func()
	for _, name := range ln.target.names {
		stops = append(stops, ls.quorum.Listen(channel(name), func() {
			select {
			case wake <- struct{}{}:
			default:
			}
		}))
	}
	ln.stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
}
