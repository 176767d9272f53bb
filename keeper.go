package redlock

import (
	"container/heap"
	"math"
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
	began time.Time
	lead  time.Duration
	slept func() time.Duration // returns the total time of suspensions; nil: the clock does not report it

	mu       sync.Mutex
	locks    lockHeap
	closed   bool
	wakeAt   time.Duration // when to check for a suspension next; not set while there are no locks
	lastWake time.Duration // what slept returned at the last check
}

// wakeEvery is how often the keeper checks for a suspension of the machine, while there are locks. Alarms stand still
// while the machine is suspended, so wakeEvery bounds how long after the resumption the context of a lost lock ends.
const wakeEvery = time.Second

// kept is the keeper's part of a Lock. keeper.mu guards it.
type kept struct {
	due       time.Duration // since the keeper began: when it looks at the lock again
	renewAt   time.Duration // when it extends it; 0: never
	index     int32         // in the heap; -1: not there
	extending bool
	left      bool // it is lost: it is cleared when due
}

func newKeeper(c clock.Clock, lead time.Duration, slept func() time.Duration) *keeper {
	k := &keeper{clock: c, lead: lead, began: c.Now()}
	if _, ok := c.(clock.Suspender); ok {
		k.slept, k.lastWake = slept, slept()
	}
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
	now := k.plan(l, l.cfg.ttl/3)
	heap.Push(&k.locks, l)
	k.ring(min(l.due, k.nextWake(now)))
	return true
}

// nextWake returns when to check for a suspension next.
func (k *keeper) nextWake(now time.Duration) time.Duration {
	if k.slept == nil {
		return math.MaxInt64
	}
	if k.wakeAt <= now {
		k.wakeAt = now + wakeEvery
	}
	return k.wakeAt
}

// wake checks for a suspension. If there was one, it moves due times earlier, since leases count that time and alarms
// do not.
func (k *keeper) wake(now time.Duration) {
	if k.slept == nil {
		return
	}
	slept := k.slept()
	if slept == k.lastWake {
		return
	}
	k.lastWake = slept
	for _, l := range k.locks {
		if l.left {
			continue
		}
		l.lease.Wake()
		if l.renewAt > 0 {
			k.plan(l, max(0, l.renewAt-now))
		} else {
			l.due = l.lease.Until().Sub(k.began) - k.lead
		}
	}
	heap.Init(&k.locks)
}

// leave looks after a lost lock until its Until, when what is left of it is cleared. It reports false if that time is over, or
// the Locker closed.
func (k *keeper) leave(l *Lock) bool {
	l.lease.Fix() // one more extension may be under way, and win where the one that lost it has healed the keys
	k.mu.Lock()
	defer k.mu.Unlock()
	until := l.lease.Until().Sub(k.began)
	if k.closed || until <= k.now() {
		return false
	}
	l.due, l.renewAt, l.left = until, 0, true
	heap.Push(&k.locks, l)
	k.ring(l.due)
	return true
}

// plan schedules the next extension of a lock: about in from now, and in any case before the lock ends. It returns the
// present time, since the keeper began.
func (k *keeper) plan(l *Lock, in time.Duration) (now time.Duration) {
	now, until := k.now(), l.lease.Until().Sub(k.began)
	l.renewAt = 0
	if l.cfg.keepalive && !l.lease.Capped() {
		in = min(in, (until-now)/2)
		l.renewAt = now + time.Duration(float64(in)*(0.9+0.2*rand.Float64()))
	}
	l.due = until - k.lead
	if l.renewAt > 0 && l.renewAt < l.due {
		l.due = l.renewAt
	}
	return now
}

func (k *keeper) now() time.Duration { return k.clock.Now().Sub(k.began) }

// ring makes the keeper check its locks at a time, counted since the keeper began.
func (k *keeper) ring(at time.Duration) { k.alarm.By(k.began.Add(at)) }

// ripe: the lock is to be extended now, or so soon that it can go out with others. A thousandth of the TTL early costs
// nothing, and among 100,000 locks it makes batches of what would be 5,000 single questions a second.
func (l *Lock) ripe(now time.Duration) bool {
	return l.renewAt > 0 && l.renewAt <= now+l.cfg.ttl/1000 && !l.extending
}

// remove stops looking after a lock.
func (k *keeper) remove(l *Lock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.index >= 0 && int(l.index) < len(k.locks) && k.locks[l.index] == l {
		heap.Remove(&k.locks, int(l.index))
	}
}

// extended plans a lock's next extension after one has ended with err. A failed one is repeated soon: there are masters
// to wait for, and a deadline to make.
func (k *keeper) extended(l *Lock, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l.extending = false
	if k.closed || l.index < 0 || l.left {
		return
	}
	in := l.cfg.ttl / 3
	if err != nil {
		in /= 4
	}
	k.plan(l, in)
	heap.Fix(&k.locks, int(l.index))
	k.ring(l.due)
}

// tick does what is due, and sets the alarm for what is due next.
func (k *keeper) tick() {
	var expired, cleared, renew []*Lock
	k.mu.Lock()
	now := k.now()
	k.wake(now)
	for len(k.locks) > 0 && (k.locks[0].due <= now || k.locks[0].ripe(now)) {
		l := k.locks[0]
		if l.left {
			cleared = append(cleared, l)
			heap.Pop(&k.locks)
			continue
		}
		if l.lease.End(k.lead) {
			expired = append(expired, l)
			heap.Pop(&k.locks)
			continue
		}
		if l.ripe(now) {
			l.extending = true
			l.renewAt = 0
			renew = append(renew, l)
		}
		l.due = l.lease.Until().Sub(k.began) - k.lead
		heap.Fix(&k.locks, 0)
	}
	if len(k.locks) > 0 {
		k.ring(min(k.locks[0].due, k.nextWake(now)))
	}
	k.mu.Unlock()

	for _, l := range expired {
		l.lose(l.expired())
	}
	for _, l := range cleared {
		l.clear()
	}
	for _, l := range renew {
		l.lease.Extend(l.extended)
	}
}

// close stops everything and returns the locks that are held, or lost and not cleared.
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
func (h lockHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h lockHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = int32(i), int32(j)
}

func (h *lockHeap) Push(x any) {
	l := x.(*Lock)
	l.index = int32(len(*h))
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
