package waitqueue

// waitList is a doubly linked list of waiters. The links are part of the Waiter, so every operation takes constant time
// and none allocates.
type waitList struct{ first, last *Waiter }

// links are a waiter's neighbors in the list.
type links struct{ prev, next *Waiter }

func (l *waitList) push(w *Waiter) {
	w.links = links{prev: l.last}
	if l.last == nil {
		l.first = w
	} else {
		l.last.links.next = w
	}
	l.last = w
}

// remove removes w from the list, if it is in the list.
func (l *waitList) remove(w *Waiter) {
	at := w.links
	switch {
	case at.prev != nil:
		at.prev.links.next = at.next
	case l.first == w:
		l.first = at.next
	default:
		return
	}
	if at.next == nil {
		l.last = at.prev
	} else {
		at.next.links.prev = at.prev
	}
	w.links = links{}
}
