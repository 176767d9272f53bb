package redlock

import (
	"fmt"
	"slices"
	"sync"

	"github.com/redlock-go/redlock/quorum"
)

// lines holds, per target, the callers of this Locker that want it, in the order they came. Only the head of a line
// talks to the masters, and only while nobody in this process holds it.
type lines struct {
	quorum *quorum.Quorum

	mu    sync.Mutex
	byKey map[lineKey]*line
}

// line is the queue for one target. It exists while somebody stands in it or holds the target; lines.mu guards it. Who
// can hold a target beside others of this Locker has a line of its own, in which it is the only one: readers wait for
// nobody but a writer, and an owner's inner Lock must not stand behind a stranger who waits for that same owner.
type line struct {
	target  target
	shared  bool
	waiting []*waiter
	held    string        // by which kind of lock of this Locker; "": not
	told    error         // what the head was answered last; nil: nothing yet
	why     error         // what the line was waiting for when somebody last knew
	wake    chan struct{} // has room for one: a release was announced
	deaf    func()        // ends the listening; nil: not listening
}

// waiter is one caller in a line.
type waiter struct {
	// turn gets nil when the waiter is the head and may try, or the error that answers a TryLock. It has room for one.
	turn  chan error
	try   bool // a TryLock: it does not wait for a lock that is held
	asked bool // turn was given
}

func (ls *lines) init(q *quorum.Quorum) {
	ls.quorum = q
	ls.byKey = make(map[lineKey]*line)
}

// join puts a caller at the end of the line. A TryLock that the line can answer gets the answer.
func (ls *lines) join(t target, try bool) (*line, *waiter, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := ls.byKey[keyOf(t)]
	if ln == nil || t.shared() {
		ln = &line{target: t, shared: t.shared(), wake: make(chan struct{}, 1)}
	}
	if !ln.shared {
		ls.byKey[keyOf(t)] = ln
	}
	if try && ln.held != "" {
		return nil, nil, ln.taken()
	}
	if try && ln.told != nil {
		return nil, nil, ln.told
	}
	w := &waiter{turn: make(chan error, 1), try: try}
	ln.waiting = append(ln.waiting, w)
	ls.advance(ln)
	return ln, w, nil
}

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

// taken is what a TryLock is told while a lock of this Locker holds the target.
func (ln *line) taken() error { return &HeldError{Name: ln.target.names[0], Kind: ln.held} }

// leave takes a waiter out of its line without the lock.
func (ls *lines) leave(ln *line, w *waiter) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	i := slices.Index(ln.waiting, w)
	if i < 0 {
		return // a TryLock that was answered
	}
	ln.waiting = slices.Delete(ln.waiting, i, i+1)
	if i == 0 {
		ln.told = nil
	}
	ls.advance(ln)
}

// won takes the head out of the line with a lock of that kind. Every TryLock behind it has its answer.
func (ls *lines) won(ln *line, kind string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln.waiting = slices.Delete(ln.waiting, 0, 1)
	ln.held, ln.told, ln.why = kind, nil, nil
	ls.answerTries(ln, ln.taken())
	ls.advance(ln)
}

// told notes what a waiting head was answered. It is the answer for every TryLock behind it, which must not overtake.
func (ls *lines) told(ln *line, err error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln.told, ln.why = err, err
	ls.answerTries(ln, err)
}

// reason is what the line is waiting for; nil if nobody knows yet.
func (ls *lines) reason(ln *line) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.held != "" {
		return ln.taken()
	}
	return ln.why
}

func (ls *lines) answerTries(ln *line, err error) {
	ln.waiting = slices.DeleteFunc(ln.waiting, func(w *waiter) bool {
		if w.try && !w.asked {
			w.turn <- err
			return true
		}
		return false
	})
}

// ended says that a lock of this Locker no longer holds its line's target. Its release must have been submitted: the next
// in line asks behind it.
func (ls *lines) ended(ln *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln.held = ""
	ls.advance(ln)
}

// advance gives the turn to the head if the name is free here, and clears away what nobody needs.
func (ls *lines) advance(ln *line) {
	if len(ln.waiting) == 0 {
		if ln.deaf != nil {
			ln.deaf()
			ln.deaf = nil
		}
		if key := keyOf(ln.target); ln.held == "" && ls.byKey[key] == ln {
			delete(ls.byKey, key)
		}
		return
	}
	if head := ln.waiting[0]; ln.held == "" && !head.asked {
		head.asked = true
		head.turn <- nil
	}
}

// listen begins to listen for releases of the line's names, unless it does already.
func (ls *lines) listen(ln *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.deaf != nil {
		return
	}
	var stops []func()
	for _, name := range ln.target.names {
		stops = append(stops, ls.quorum.Listen(channel(name), func() {
			select {
			case ln.wake <- struct{}{}:
			default:
			}
		}))
	}
	ln.deaf = func() {
		for _, stop := range stops {
			stop()
		}
	}
}
