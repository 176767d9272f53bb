package waitqueue

// maxIdlePools is how many pools without callers and holders are kept, for the slots that they remember.
const maxIdlePools = 256

// idlePools is a list of the idle pools, from the one that has been idle for the longest time.
type idlePools struct {
	first, last *pool
	size        int
}

// idleLinks are a pool's neighbors in the list.
type idleLinks struct {
	in         bool
	prev, next *pool
}

// retire removes a pool that is not used any more. It keeps the pool of a semaphore, and removes the one that has been
// idle for the longest time if there are too many.
func (qs *Queues) retire(p *pool) {
	if p.slotted() && !p.idle.in {
		qs.idle.push(p)
		p = qs.idle.first
	}
	if !p.slotted() || qs.idle.size > maxIdlePools {
		qs.idle.remove(p)
		delete(qs.pools, p.key)
	}
}

func (l *idlePools) push(p *pool) {
	p.idle = idleLinks{in: true, prev: l.last}
	if l.last == nil {
		l.first = p
	} else {
		l.last.idle.next = p
	}
	l.last = p
	l.size++
}

// remove removes a pool from the list, if it is in the list.
func (l *idlePools) remove(p *pool) {
	at := p.idle
	if !at.in {
		return
	}
	if at.prev == nil {
		l.first = at.next
	} else {
		at.prev.idle.next = at.next
	}
	if at.next == nil {
		l.last = at.prev
	} else {
		at.next.idle.prev = at.prev
	}
	p.idle = idleLinks{}
	l.size--
}
