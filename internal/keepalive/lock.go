package keepalive

import "time"

// Lock is a lock as a [Schedule] sees it.
//
// The Schedule calls the methods of the first group with its mutex held. They must return quickly and must not call the
// Schedule. It calls the methods of the second group from its own goroutine without the mutex.
type Lock interface {
	// TTL returns the time to live that an extension sets.
	TTL() time.Duration
	// Renewable reports whether the Schedule is to extend the lock: false without keepalive, and for a lock that has
	// reached its maximum hold.
	Renewable() bool
	// Until returns when the lock ends unless it is extended.
	Until() time.Time
	// FreezeIfDue reports whether the lock ends within lead, and if so, prevents every later extension.
	FreezeIfDue(lead time.Duration) bool

	// Renew requests an extension. [Schedule.Renewed] must be called with its result.
	Renew()
	// Expire ends the lock, whose FreezeIfDue returned true, for its holder.
	Expire()
	// Clear releases the residual keys of a lingering lock.
	Clear()
}

// Entry is a lock's place in a [Schedule]. The zero Entry is in none. An Entry is a field of its lock, so that a held
// lock costs one allocation. The mutex of the Schedule guards it.
type Entry struct {
	lock      Lock
	due       time.Duration // when the Schedule handles the lock next, since Schedule.start
	renewAt   time.Duration // when it requests the next extension, since Schedule.start; 0: none, or one is in progress
	index     int32         // in the heap; valid if scheduled
	scheduled bool          // the Entry is in the heap
	lingering bool          // the lock was lost; its residual keys are cleared when due
}

// renewDue reports whether the next extension may be requested now. It may be requested a thousandth of the TTL
// early. With 100,000 locks and a TTL of a minute, 5,000 extensions are due each second; this makes batches of them.
func (e *Entry) renewDue(now time.Duration) bool {
	return e.renewAt > 0 && e.renewAt <= now+e.lock.TTL()/1000
}

// entryHeap is a heap of entries by due time, for package container/heap.
type entryHeap []*Entry

func (h entryHeap) Len() int           { return len(h) }
func (h entryHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h entryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = int32(i), int32(j)
}

func (h *entryHeap) Push(x any) {
	e := x.(*Entry)
	e.index, e.scheduled = int32(len(*h)), true
	*h = append(*h, e)
}

func (h *entryHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.scheduled = false
	return e
}
