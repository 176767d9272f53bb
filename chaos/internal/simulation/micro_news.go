package simulation

import (
	"time"

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
	defer e.keepBusy(holder, e.worker(1))()
	each(e.world.Masters(), func(m *simnet.Master) { m.Trickle(simnet.FromMaster, piece, gap) })
	for range 4 {
		h := holder.free(e.want(kinds.Mutex))
		time.Sleep(300 * time.Millisecond)
		got := waiter.await(e.want(kinds.Mutex), 30*time.Second)
		time.Sleep(within(e.rng, gap))
		released := e.now()
		h.sure()
		waiter.follows(got, released, waiter.client.RetryMin/2, "while its probe is answered")
		time.Sleep(300 * time.Millisecond)
	}
}

// keepBusy has one worker hold a name, for no longer than its TTL, and another client's worker wait for it. That client
// is then connected to all masters as a subscriber. The function that it returns heals the links of the masters and
// ends both.
func (e *env) keepBusy(holder, waiter *worker) (end func()) {
	name := locker.Request{Mode: kinds.Mutex, Names: []string{"kept"}}
	busy := holder.free(name)
	got := waiter.await(name, time.Minute)
	time.Sleep(300 * time.Millisecond)
	return func() {
		each(e.world.Masters(), func(m *simnet.Master) { m.Link.Heal() })
		busy.sure()
		if h := <-got; h != nil {
			h.sure()
		}
	}
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
		got := waiter.await(want, 30*time.Second)
		<-quit
		time.Sleep(within(e.rng, 500*time.Millisecond))
		released := e.now()
		for _, h := range held {
			h.sure()
		}
		waiter.follows(got, released, 3*waiter.client.Timeout, "for which a semaphore's waiter gave up")
	}
}

// silentReleases checks that another client learns of a release that was silent, because a waiter of the same client
// was to follow, if that waiter gives up before it has the lock.
func (e *env) silentReleases() {
	fenced := e.want(kinds.Mutex)
	fenced.Fencing = true // so that it is not handed over with its lease
	other, first, next := e.worker(0), e.worker(1), e.worker(1)
	defer e.keepBusy(first, e.worker(0))()
	first.free(fenced).sure() // the masters then have its scripts
	const way = 20 * time.Millisecond
	each(e.world.Masters(), func(m *simnet.Master) { m.Delay(way, 0) })
	for range 4 {
		h := first.free(fenced)
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
		other.follows(got, released, other.client.RetryMin/2, "which was silent at first")
		time.Sleep(300 * time.Millisecond)
	}
}
