package simulation

import (
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/internal/simnet"
)

// The steps below end the micro-scenario of news: what a waiter may not miss, although it would not ask again by itself
// for two seconds.

// newsDuringProbes checks that a waiter learns of a release whose messages arrive before the answers to its probe,
// which are longer and come in three pieces.
func (e *env) newsDuringProbes() {
	const piece, gap = 40, 20 * time.Millisecond
	holder, waiter := e.worker(0), e.worker(1)
	end := e.keepBusy(holder, e.worker(1))
	if end == nil {
		return
	}
	defer end()
	for _, m := range e.world.Masters() {
		m.Trickle(simnet.FromMaster, piece, gap)
	}
	for range 4 {
		h := holder.must(e.want(kinds.Mutex), 2*time.Second, "it is free")
		if h == nil {
			break
		}
		time.Sleep(300 * time.Millisecond)
		got := make(chan *holding, 1)
		go func() { got <- waiter.take(e.want(kinds.Mutex), patient{most: 30 * time.Second}) }()
		time.Sleep(within(e.rng, gap))
		released := e.now()
		h.sure()
		if !e.follows(waiter, <-got, released, waiter.client.RetryMin/2) {
			break
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// keepBusy has one worker hold a name, for no longer than its TTL, and another client's worker wait for it. That client
// is then connected to all masters as a subscriber. The function that it returns heals the links of the masters and
// ends both; it is nil if the name was not acquired.
func (e *env) keepBusy(holder, waiter *worker) (end func()) {
	name := locker.Request{Mode: kinds.Mutex, Names: []string{"kept"}}
	busy := holder.must(name, 2*time.Second, "it is free")
	if busy == nil {
		return nil
	}
	got := make(chan *holding, 1)
	go func() { got <- waiter.take(name, patient{most: time.Minute}) }()
	time.Sleep(300 * time.Millisecond)
	return func() {
		for _, m := range e.world.Masters() {
			m.Link.Heal()
		}
		busy.sure()
		if h := <-got; h != nil {
			h.sure()
		}
	}
}

// follows checks that a waiter got a lock soon after it was released, and unlocks it.
func (e *env) follows(waiter *worker, next *holding, released, bound time.Duration) bool {
	if next == nil || next.from-released > bound {
		e.problem(check.ByLiveness, waiter.who, "did not get a lock within %v of its release at %v: %v",
			bound, stamp(released), next != nil)
	}
	if next != nil {
		next.sure()
	}
	return next != nil
}

// turnsOfQuitters checks that the next waiter for a semaphore asks in place of one that gave up.
func (e *env) turnsOfQuitters() {
	holder, quitter, waiter := e.worker(0), e.worker(1), e.worker(1)
	want := e.want(kinds.Semaphore)
	want.Slots = slots
	for range 3 {
		var held []*holding
		for range slots {
			h := holder.must(want, 2*time.Second, "a slot is free")
			if h == nil {
				return
			}
			held = append(held, h)
		}
		quit := make(chan struct{})
		go func() {
			defer close(quit)
			if h := quitter.take(want, patient{most: 500 * time.Millisecond}); h != nil {
				h.sure()
			}
		}()
		time.Sleep(50 * time.Millisecond)
		got := make(chan *holding, 1)
		go func() { got <- waiter.take(want, patient{most: 30 * time.Second}) }()
		<-quit
		time.Sleep(within(e.rng, 500*time.Millisecond))
		released := e.now()
		for _, h := range held {
			h.sure()
		}
		if !e.follows(waiter, <-got, released, 3*waiter.client.Timeout) {
			return
		}
	}
}

// silentReleases checks that another client learns of a release that was silent, because a waiter of the same client
// was to follow, if that waiter gives up before it has the lock.
func (e *env) silentReleases() {
	fenced := e.want(kinds.Mutex)
	fenced.Fencing = true // so that it is not handed over with its lease
	other, first, next := e.worker(0), e.worker(1), e.worker(1)
	end := e.keepBusy(first, e.worker(0))
	if end == nil {
		return
	}
	defer end()
	if h := first.must(fenced, 2*time.Second, "it is free"); h != nil { // the masters then have its scripts
		h.sure()
	}
	const way = 20 * time.Millisecond
	for _, m := range e.world.Masters() {
		m.Delay(way, 0)
	}
	for range 4 {
		h := first.must(fenced, 2*time.Second, "it is free")
		if h == nil {
			break
		}
		// It may be passed on for 8 ways, and the other client waits after 5.
		hold := 6*way + within(e.rng, way)
		got, quit := make(chan *holding, 1), make(chan *holding, 1)
		go func() { got <- other.take(fenced, patient{most: 30 * time.Second}) }()
		quits := hold + within(e.rng, 2*way)
		go func() { quit <- next.take(fenced, patient{most: quits}) }()
		time.Sleep(hold)
		h.sure()
		if h := <-quit; h != nil {
			h.sure()
		}
		released := e.now()
		if !e.follows(other, <-got, released, other.client.RetryMin/2) {
			break
		}
		time.Sleep(300 * time.Millisecond)
	}
}
