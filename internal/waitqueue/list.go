package waitqueue

// waitList is a doubly linked list of waiters in the order of their calls. The links are part of the Waiter, one pair
// for each sort of list, so every operation takes constant time and none allocates.
type waitList struct {
	sort        listSort
	first, last *Waiter
}

// listSort selects which of a waiter's links a list uses.
type listSort uint8

const (
	byOrder   listSort = iota // all waiters of a queue
	byTry                     // the TryLocks of a queue that have not had the turn
	byOwner                   // the waiters of one owner
	byTurn                    // the waiters of a pool that have the turn
	listSorts                 // the number of sorts
)

// links are a waiter's neighbors in one list.
type links struct {
	in         bool
	prev, next *Waiter
}

func (l *waitList) push(w *Waiter) {
	w.links[l.sort] = links{in: true, prev: l.last}
	if l.last == nil {
		l.first = w
	} else {
		l.last.links[l.sort].next = w
	}
	l.last = w
}

// remove removes w from the list. It reports whether w was in the list.
func (l *waitList) remove(w *Waiter) bool {
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

// next returns the waiter after w, or nil if w is the last one.
func (l *waitList) next(w *Waiter) *Waiter { return w.links[l.sort].next }
