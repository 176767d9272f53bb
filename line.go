package redlock

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/quorum"
)

// lines holds, per target, the callers of this Locker that want it, in the order they came. Only the head of a line
// talks to the masters, and only while nobody in this process holds it.
type lines struct {
	quorum *quorum.Quorum

	mu    sync.Mutex
	byKey map[lineKey]*line
	// courtesy is until when others go first, of the names for which somebody outside this Locker has waited.
	courtesy map[lineKey]time.Time
}

// line is the queue for one target. It exists while somebody stands in it or holds the target; lines.mu guards it. A
// caller whose target is not exclusive has a line to itself: readers wait for nobody but a writer, and an owner's inner
// Lock must not stand behind a stranger who waits for that same owner.
type line struct {
	target  target
	waiting []*waiter
	held    string        // by which kind of lock of this Locker; "": not
	refusal error         // what the masters answered the head last; nil: nothing yet
	reason  error         // the same, kept when that head leaves
	rivals  bool          // others waited for it when it was released last
	untold  *Lock         // was released silently, since somebody here went on; nil: the last one was not
	wake    chan struct{} // has room for one: a release was announced; nil before the head first listens
	stop    func()        // ends the listening; nil: not listening
}

// waiter is one caller in a line.
type waiter struct {
	turn    chan turn // has room for the one that it gets
	target  target
	cfg     *config
	try     bool // a TryLock: it does not wait for a lock that is held
	hasTurn bool
}

// turn is what a waiter waits for: its turn to ask the masters, after a while, or within a tenure; or the lock itself, from its
// last holder; or, for a TryLock, the answer.
type turn struct {
	after  time.Duration
	tenure tenure // goes on, if the masters grant the first attempt
	from   *Lock
	err    error
}

func (ls *lines) init(q *quorum.Quorum) {
	ls.quorum = q
	ls.byKey = make(map[lineKey]*line)
	ls.courtesy = make(map[lineKey]time.Time)
}

// join puts a caller at the end of the line. A TryLock that the line can answer gets the answer.
func (ls *lines) join(w *waiter) (*line, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := ls.lineFor(w.target)
	if w.try && ln.held != "" {
		return nil, ln.taken()
	}
	if w.try && ln.refusal != nil {
		return nil, ln.refusal
	}
	ln.waiting = append(ln.waiting, w)
	ls.advance(ln, turn{after: ls.courteous(w)})
	return ln, nil
}

// lineFor is the line of the target's callers; where the target is not exclusive, a new one for this caller alone.
func (ls *lines) lineFor(t target) *line {
	key := keyOf(t)
	if ln := ls.byKey[key]; ln != nil && t.exclusive() {
		return ln
	}
	ln := &line{target: t}
	if t.exclusive() {
		ls.byKey[key] = ln
	}
	return ln
}

// courteous returns how long the caller leaves the name to others. A TryLock does not wait, and readers are kept out by the
// intent of a writer.
func (ls *lines) courteous(w *waiter) time.Duration {
	until, ok := ls.courtesy[keyOf(w.target)]
	if !ok || w.try || w.target.kind == kindReader {
		return 0
	}
	return max(0, until.Sub(w.cfg.clock.Now()))
}

// heard notes how many have heard of a release of the line's name. If others did than this line, they go first until then:
// whoever has just released is nearest to the masters' ear, and would be the next again and again.
func (ls *lines) heard(ln *line, heard int, until time.Time) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.stop != nil {
		heard-- // itself
	}
	ln.rivals = heard > 0
	key := keyOf(ln.target)
	if !ln.rivals {
		delete(ls.courtesy, key)
		return
	}
	ls.courtesy[key] = until
	if len(ls.courtesy) > fewNames {
		maps.DeleteFunc(ls.courtesy, func(_ lineKey, t time.Time) bool { return t.Before(until.Add(-time.Second)) })
	}
}

// fewNames is how many names with rivals are remembered before old ones are forgotten.
const fewNames = 64

// lineKey is the same for all who want one name alone: a mutex and a writer stand in one line. The several names of a
// LockAll make a line of their own; with others they meet at the masters.
type lineKey struct {
	several bool
	names   string
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
	i := slices.Index(ln.waiting, w)
	if i < 0 {
		ls.mu.Unlock()
		return // a TryLock that was answered
	}
	ln.waiting = slices.Delete(ln.waiting, i, i+1)
	if i == 0 {
		ln.refusal = nil
	}
	var from *Lock
	select {
	case t := <-w.turn:
		from = t.from
	default:
	}
	if from == nil {
		ls.advance(ln, ls.afterLeaving(ln))
	}
	ls.mu.Unlock()
	if from != nil {
		from.release(nil)
	}
}

// afterLeaving is the turn of whoever is the head now that another has left. It goes on in the tenure of a release that was
// silent, which does not begin anew. When that is over, those who wait elsewhere are told, and go first.
func (ls *lines) afterLeaving(ln *line) turn {
	if len(ln.waiting) == 0 || ln.waiting[0].hasTurn || ln.held != "" {
		return turn{} // which nobody gets
	}
	head, from := ln.waiting[0], ln.untold
	now := head.cfg.clock.Now()
	if from != nil && from.stays(head, now, leastSilence) {
		return turn{tenure: from.tenure.next()}
	}
	gap := ls.courteous(head)
	if from != nil && ln.rivals && !head.try {
		gap = max(gap, from.tenure.gap(now))
	}
	ln.tell()
	return turn{after: gap}
}

// handOver gives the head the lock that from was, if it suits. The line stays held.
func (ls *lines) handOver(ln *line, from *Lock, now time.Time) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(ln.waiting) == 0 || !from.suits(ln.waiting[0], now) {
		return false
	}
	head := ln.waiting[0]
	head.hasTurn = true
	head.turn <- turn{from: from}
	return true
}

// won takes the head out of the line with a lock of that kind. Every TryLock behind it has its answer.
func (ls *lines) won(ln *line, kind string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln.waiting = slices.Delete(ln.waiting, 0, 1)
	ln.held, ln.refusal, ln.reason, ln.untold = kind, nil, nil, nil
	if kind == kindReentrant { // others had their turn; the owner's further holds wait for nobody
		delete(ls.courtesy, keyOf(ln.target))
	}
	if len(ln.waiting) > 0 {
		ls.answerTries(ln, ln.taken())
	}
	ls.advance(ln, turn{})
}

// refused notes what the masters answered a head that goes on waiting. It answers every TryLock behind it, which must not
// overtake. If nobody holds the name, those who wait elsewhere are told of a release that was silent: they would hear of none. A master
// that is silent itself tells nobody.
func (ls *lines) refused(ln *line, err error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln.refusal, ln.reason = err, err
	if !errors.Is(err, ErrHeld) {
		ln.tell()
	}
	ls.answerTries(ln, err)
}

// reason is what the line is waiting for; nil if nobody knows yet.
func (ls *lines) reason(ln *line) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.held != "" {
		return ln.taken()
	}
	return ln.reason
}

func (ls *lines) answerTries(ln *line, err error) {
	ln.waiting = slices.DeleteFunc(ln.waiting, func(w *waiter) bool {
		if w.try && !w.hasTurn {
			w.turn <- turn{err: err}
			return true
		}
		return false
	})
}

// goOn reports whether the head may have the name next although others wait, and if so notes that from's release is silent.
func (ls *lines) goOn(ln *line, from *Lock, now time.Time) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(ln.waiting) == 0 || !from.stays(ln.waiting[0], now, leastSilence) {
		return false
	}
	ln.untold = from
	return true
}

// ended says that a lock of this Locker no longer holds its line's target. Its release must have been submitted: the next
// in line asks behind it.
func (ls *lines) ended(ln *line, next turn) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln.held = ""
	if !ln.rivals {
		next.after = 0
	}
	ls.advance(ln, next)
}

// advance gives the turn to the head if the name is free here, and clears away what nobody needs.
func (ls *lines) advance(ln *line, t turn) {
	if len(ln.waiting) == 0 {
		if ln.stop != nil {
			ln.stop()
			ln.stop = nil
		}
		if key := keyOf(ln.target); ln.held == "" && ls.byKey[key] == ln {
			delete(ls.byKey, key)
		}
		if ln.held == "" {
			ln.tell()
		}
		return
	}
	if head := ln.waiting[0]; ln.held == "" && !head.hasTurn {
		head.hasTurn = true
		head.turn <- t
	}
}

// tell announces a release that was silent: whoever was to go on does not, or not soon.
func (ln *line) tell() {
	if ln.untold != nil {
		ln.untold.announce()
		ln.untold = nil
	}
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
