package waitqueue

// waitList is a doubly linked list of waiters. The links are part of the Waiter, one pair for each role of a list, so
// every operation takes constant time and none allocates.
type waitList struct {
	role        listRole
	first, last *Waiter
}

// listRole is what a list is for. It selects which of a waiter's links the list uses.
type listRole uint8

const (
	asCaller  listRole = iota // all callers of a queue
	asTryLock                 // the TryLocks of a queue that wait for their turn
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

// remove removes w from the list, if it is in the list.
func (l *waitList) remove(w *Waiter) {
	at := w.links[l.role]
	if !at.in {
		return
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
}

// next returns the waiter after w, or nil if w is the last one.
func (l *waitList) next(w *Waiter) *Waiter { return w.links[l.role].next }
