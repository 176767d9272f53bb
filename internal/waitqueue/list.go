package waitqueue

// waitList is a doubly linked list of waiters in the order of their calls. The links are part of the Waiter, one pair
// for each role of a list, so every operation takes constant time and none allocates.
type waitList struct {
	role        listRole
	first, last *Waiter
}

// listRole is what a list is for. It selects which of a waiter's links the list uses.
type listRole uint8

const (
	asWaiter  listRole = iota // all waiters of a queue
	asTryLock                 // the TryLocks of a queue that have not had the turn
	ofOwner                   // the waiters of one owner
	withTurn                  // the waiters of a pool that have the turn
	listRoles                 // the number of roles
)

// links are a waiter's neighbors in one list.
type links struct {
	in         bool
	prev, next *Waiter
}

func (l *waitList) push(w *Waiter) {
	w.links[l.role] = links{in: true, prev: l.last}
	if l.last == nil {
		l.first = w
	} else {
		l.last.links[l.role].next = w
	}
	l.last = w
}

// remove removes w from the list. It reports whether w was in the list.
func (l *waitList) remove(w *Waiter) bool {
	at := w.links[l.role]
	if !at.in {
		return false
	}
	if at.prev == nil {
		l.first = at.next
	} else {
		at.prev.links[l.role].next = at.next
	}
	if at.next == nil {
		l.last = at.prev
	} else {
		at.next.links[l.role].prev = at.prev
	}
	w.links[l.role] = links{}
	return true
}

// insertAfter inserts w after another waiter of the list, or at the front if at is nil.
func (l *waitList) insertAfter(at, w *Waiter) {
	next := l.first
	if at != nil {
		next = at.links[l.role].next
	}
	if next == nil {
		l.push(w)
		return
	}
	w.links[l.role] = links{in: true, prev: at, next: next}
	next.links[l.role].prev = w
	if at == nil {
		l.first = w
	} else {
		at.links[l.role].next = w
	}
}

// prev returns the waiter before w, or nil if w is the first one.
func (l *waitList) prev(w *Waiter) *Waiter { return w.links[l.role].prev }

// next returns the waiter after w, or nil if w is the last one.
func (l *waitList) next(w *Waiter) *Waiter { return w.links[l.role].next }
