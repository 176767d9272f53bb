package redlock

import "strings"

// The callers that wait for a reentrant lock stand in one line, whoever their owners are: with a line for each owner, every
// release would wake all of them, and they would split the vote. But an owner must get in while it has the lock already, also
// when it has it in another process, and a stranger stands before it in the line and waits for that same owner. So a caller asks
// the masters once before it joins the line, and asks again, in or out of its turn, when it is nudged: when its owner got the
// lock in this Locker, or when the head of the line found that the owner has it.

// enroll notes whose a waiter is.
func (ln *line) enroll(w *waiter) {
	if w.nudge == nil {
		return
	}
	if ln.owners == nil {
		ln.owners = make(map[string]*waitList)
	}
	owner := w.target.owner
	if ln.owners[owner] == nil {
		ln.owners[owner] = &waitList{sort: byOwner}
	}
	ln.owners[owner].push(w)
}

// strike takes that back.
func (ln *line) strike(w *waiter) {
	if of := ln.owners[w.target.owner]; of != nil && of.remove(w) && of.first == nil {
		delete(ln.owners, w.target.owner)
	}
}

// nudge has the owner's callers in the line of the target ask the masters.
func (ls *lines) nudge(t target) {
	key := keyOf(t)
	key.owners = true
	ln := ls.byKey[key]
	if ln == nil {
		return
	}
	of := ln.owners[t.owner]
	if of == nil {
		return
	}
	for w := of.first; w != nil; w = of.next(w) {
		select {
		case w.nudge <- struct{}{}:
		default:
		}
	}
}

// found nudges the callers of owners that a look found in the way, by what it calls their locks.
func (ls *lines) found(t target, locks map[string]int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for lock := range locks {
		if owner, ok := strings.CutPrefix(lock, kindReentrant); ok {
			t.owner = owner
			ls.nudge(t)
		}
	}
}
