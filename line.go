package redlock

import (
	"slices"
	"sync"

	"github.com/redlock-go/redlock/quorum"
)

// lines holds, per name, the callers of this Locker that want it, in the order they came. Only the head of a line
// talks to the masters, and only while nobody in this process holds the name.
type lines struct {
	quorum *quorum.Quorum

	mu     sync.Mutex
	byName map[string]*line
}

// line is the queue for one name. It exists while somebody stands in it or holds the name; lines.mu guards it.
type line struct {
	name    string
	waiting []*waiter
	held    bool          // by a lock of this Locker
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
	ls.byName = make(map[string]*line)
}

// join puts a caller at the end of the line. A TryLock that the line can answer gets the answer.
func (ls *lines) join(name string, try bool) (*line, *waiter, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := ls.byName[name]
	if ln == nil {
		ln = &line{name: name}
		ls.byName[name] = ln
	}
	if try && ln.held {
		return nil, nil, &HeldError{Name: name}
	}
	if try && ln.told != nil {
		return nil, nil, ln.told
	}
	w := &waiter{turn: make(chan error, 1), try: try}
	ln.waiting = append(ln.waiting, w)
	ls.advance(ln)
	return ln, w, nil
}

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

// won takes the head out of the line with the lock. Every TryLock behind it has its answer.
func (ls *lines) won(ln *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln.waiting = slices.Delete(ln.waiting, 0, 1)
	ln.held, ln.told, ln.why = true, nil, nil
	ls.answerTries(ln, &HeldError{Name: ln.name})
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
	if ln.held {
		return &HeldError{Name: ln.name}
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

// ended says that a lock of this Locker is over. Its release must have been submitted: the next in line asks behind it.
func (ls *lines) ended(name string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln := ls.byName[name]; ln != nil {
		ln.held = false
		ls.advance(ln)
	}
}

// advance gives the turn to the head if the name is free here, and clears away what nobody needs.
func (ls *lines) advance(ln *line) {
	if len(ln.waiting) == 0 {
		if ln.deaf != nil {
			ln.deaf()
			ln.deaf = nil
		}
		if !ln.held && ls.byName[ln.name] == ln {
			delete(ls.byName, ln.name)
		}
		return
	}
	if head := ln.waiting[0]; !ln.held && !head.asked {
		head.asked = true
		head.turn <- nil
	}
}

// listen begins to listen for releases of the line's name, unless it does already. It reports whether it began.
func (ls *lines) listen(ln *line) (began bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.deaf != nil {
		return false
	}
	ln.wake = make(chan struct{}, 1)
	wake := ln.wake
	ln.deaf = ls.quorum.Listen(channel(ln.name), func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	return true
}
