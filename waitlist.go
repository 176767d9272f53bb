package redlock

// waitList is a list of callers in the order they came. A caller can be in one list of each sort. Every operation takes
// constant time.
type waitList struct {
	sort        listSort
	first, last *waiter
}

// listSort is which of a waiter's links a list uses.
type listSort uint8

const (
	byOrder listSort = iota // all callers of a queue
	byTry                   // its TryLocks that have not had their turn
	byOwner                 // the callers of one owner
	listSorts
)

// links are a waiter's neighbors in one list.
type links struct {
	in         bool
	prev, next *waiter
}

func (l *waitList) push(w *waiter) {
	w.links[l.sort] = links{in: true, prev: l.last}
	if l.last == nil {
		l.first = w
	} else {
		l.last.links[l.sort].next = w
	}
	l.last = w
}

// remove takes a waiter out. It reports whether it was in the list.
func (l *waitList) remove(w *waiter) bool {
	at := w.links[l.sort]
	if !at.in {
		return false
	}
	if at.prev == nil {
		l.first = at.next
	} else {
		at.prev.links[l.sort].next = at.next
	}
	if at.next == nil {
		l.last = at.prev
	} else {
		at.next.links[l.sort].prev = at.prev
	}
	w.links[l.sort] = links{}
	return true
}

// next returns the waiter after w, or nil.
func (l *waitList) next(w *waiter) *waiter { return w.links[l.sort].next }
