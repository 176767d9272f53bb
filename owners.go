package redlock

import (
	"github.com/redlock-go/redlock/internal/kind"
)

// All callers that wait for one reentrant lock share one line, whatever their owners. With a line per owner, every
// release would wake the heads of all lines, and they would split the vote.
//
// But a caller whose owner holds the lock already, perhaps in another process, must get it at once. Otherwise it would
// wait in the line after a caller of another owner, which in turn waits for the first owner's release. So a caller asks
// the masters once before it joins the line. It asks again, without waiting for its turn, when it is nudged. It is
// nudged when its owner acquires the lock in this Locker, and when the head of the line finds that its owner holds the
// lock.

// addOwner adds a waiter to the list of its owner.
func (ln *line) addOwner(w *waiter) {
	if w.nudge == nil {
		return
	}
	if ln.owners == nil {
		ln.owners = make(map[string]*waitList)
	}
	owner := w.target.Owner
	if ln.owners[owner] == nil {
		ln.owners[owner] = &waitList{sort: byOwner}
	}
	ln.owners[owner].push(w)
}

// removeOwner removes a waiter from the list of its owner.
func (ln *line) removeOwner(w *waiter) {
	if of := ln.owners[w.target.Owner]; of != nil && of.remove(w) && of.first == nil {
		delete(ln.owners, w.target.Owner)
	}
}

// nudge makes the waiting callers of t's owner ask the masters. ls.mu must be held.
func (ls *lines) nudge(t kind.Target) {
	key := keyOf(t)
	key.owners = true
	ln := ls.byKey[key]
	if ln == nil {
		return
	}
	of := ln.owners[t.Owner]
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

// nudgeOwners nudges the callers of owners that hold the lock.
func (ls *lines) nudgeOwners(t kind.Target, owners []string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, owner := range owners {
		t.Owner = owner
		ls.nudge(t)
	}
}
