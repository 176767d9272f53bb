package redlock

import (
	"container/heap"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// lead is how much before Until a loss is told, so that it is never told after.
const lead = time.Millisecond

// keeper looks after the deadlines of all locks of one Locker: one heap and one alarm, and no goroutine while nothing is
// due. 100,000 held locks are a normal day.
type keeper struct {
	clock clock.Clock
	alarm *clock.Alarm

	mu     sync.Mutex
	locks  lockHeap
	closed bool
}

// kept is the keeper's part of a Lock. keeper.mu guards it.
type kept struct {
	due       time.Time // when the keeper looks at the lock again
	renewAt   time.Time // when it extends it; zero: never
	extending bool
	index     int // in the heap; -1: not there
}

func newKeeper(c clock.Clock) *keeper {
	k := &keeper{clock: c}
	k.alarm = clock.NewAlarm(c, k.tick)
	return k
}

// add begins to look after a lock. It reports false if the Locker is closed.
func (k *keeper) add(l *Lock) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	l.plan(k.clock.Now(), l.cfg.ttl/3)
	heap.Push(&k.locks, l)
	k.alarm.By(l.due)
	return true
}

// plan sets when to extend next, about in from now, and in any case while there is time.
func (l *Lock) plan(now time.Time, in time.Duration) {
	l.renewAt = time.Time{}
	if l.cfg.keepalive && !l.lease.Capped() {
		in = min(in, l.lease.Until().Sub(now)/2)
		l.renewAt = now.Add(time.Duration(float64(in) * (0.9 + 0.2*rand.Float64())))
	}
	l.due = l.lease.Until().Add(-lead)
	if !l.renewAt.IsZero() && l.renewAt.Before(l.due) {
		l.due = l.renewAt
	}
}

// remove stops looking after a lock.
func (k *keeper) remove(l *Lock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.index >= 0 && l.index < len(k.locks) && k.locks[l.index] == l {
		heap.Remove(&k.locks, l.index)
	}
}

// extended plans a lock's next extension after one has ended with err. A failed one is repeated soon: there are masters
// to wait for, and a deadline to make.
func (k *keeper) extended(l *Lock, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l.extending = false
	if k.closed || l.index < 0 {
		return
	}
	in := l.cfg.ttl / 3
	if err != nil {
		in /= 4
	}
	l.plan(k.clock.Now(), in)
	heap.Fix(&k.locks, l.index)
	k.alarm.By(l.due)
}

// tick does what is due, and sets the alarm for what is due next.
func (k *keeper) tick() {
	var expired, renew []*Lock
	k.mu.Lock()
	now := k.clock.Now()
	for len(k.locks) > 0 && !k.locks[0].due.After(now) {
		l := k.locks[0]
		if l.lease.End(lead) {
			expired = append(expired, l)
			heap.Pop(&k.locks)
			continue
		}
		if !l.renewAt.IsZero() && !l.renewAt.After(now) && !l.extending {
			l.extending = true
			l.renewAt = time.Time{}
			renew = append(renew, l)
		}
		l.due = l.lease.Until().Add(-lead)
		heap.Fix(&k.locks, 0)
	}
	if len(k.locks) > 0 {
		k.alarm.By(k.locks[0].due)
	}
	k.mu.Unlock()

	for _, l := range expired {
		l.expire()
	}
	for _, l := range renew {
		l.lease.Extend(l.extended)
	}
}

// close stops everything and returns the locks that are held.
func (k *keeper) close() []*Lock {
	k.mu.Lock()
	k.closed = true
	held := k.locks
	k.locks = nil
	for _, l := range held {
		l.index = -1
	}
	k.mu.Unlock()
	k.alarm.Stop()
	return held
}

// lockHeap is a heap of locks by due.
type lockHeap []*Lock

func (h lockHeap) Len() int           { return len(h) }
func (h lockHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h lockHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *lockHeap) Push(x any) {
	l := x.(*Lock)
	l.index = len(*h)
	*h = append(*h, l)
}

func (h *lockHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	l.index = -1
	return l
}
