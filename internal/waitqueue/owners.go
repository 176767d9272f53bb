package waitqueue

// All callers that wait for one reentrant lock share one queue, whatever their owners. With a queue per owner, every
// release would wake the heads of all queues, and they would split the vote.
//
// But a caller whose owner holds the lock already, perhaps in another process, must get it at once. Otherwise it would
// wait in the queue after a caller of another owner, which in turn waits for the first owner's release. So a caller
// asks the masters once, in a queue of its own, before it joins the shared queue. There a nudge makes it ask again
// without the turn. It is nudged when its owner acquires the lock in this process, and when the head of the queue finds
// that its owner holds the lock.

// addOwner adds a waiter to the list of its owner.
func (q *queue) addOwner(w *Waiter) {
	if w.nudges == nil {
		return
	}
	if q.owners == nil {
		q.owners = make(map[string]*waitList)
	}
	if q.owners[w.Owner] == nil {
		q.owners[w.Owner] = &waitList{role: ofOwner}
	}
	q.owners[w.Owner].push(w)
}

// removeOwner removes a waiter from the list of its owner.
func (q *queue) removeOwner(w *Waiter) {
	if list := q.owners[w.Owner]; list != nil && list.remove(w) && list.first == nil {
		delete(q.owners, w.Owner)
	}
}

// Nudge makes the waiting callers of an owner of a reentrant lock ask the masters.
func (qs *Queues) Nudge(key Key, owner string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.nudge(key, owner)
}

func (qs *Queues) nudge(key Key, owner string) {
	q := qs.byKey[queueKey{key.names, key.several, true}]
	if q == nil || q.owners[owner] == nil {
		return
	}
	list := q.owners[owner]
	for w := list.first; w != nil; w = list.next(w) {
		w.nudge()
	}
}

// nudge nudges a waiter. It reports whether the waiter had not been nudged already.
func (w *Waiter) nudge() bool {
	select {
	case w.nudges <- struct{}{}:
		return true
	default:
		return false
	}
}

// takeNudge reports whether the waiter has been nudged and has not noticed.
func (w *Waiter) takeNudge() bool {
	select {
	case <-w.nudges:
		return true
	default:
		return false
	}
}
