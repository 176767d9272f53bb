package redlock

import (
	"time"
	"unsafe"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/waitqueue"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// Gather is what Inspect makes of votes, and of those of look with a majority of need.
func Gather(votes []wire.Vote, need int) Holding {
	var h Holding
	answers := make([]quorum.Answer, len(votes))
	for i, v := range votes {
		answers[i] = quorum.Answer{Vote: v, Voted: true}
		h.Nodes = append(h.Nodes, nodeHolding(answers[i]))
	}
	h.aggregate(kind.NewCensus(answers), need)
	return h
}

// BlockQueues blocks every wait queue of the Locker until the returned function is called. It has a lock whose lease is
// read while the queues are locked, when the lock is handed over.
func (l *Locker) BlockQueues() (unblock func()) {
	request := waitqueue.Request{Names: []string{"blocked"}, Width: 1, Policy: blockingLock{}.Policy()}
	var holder, next waitqueue.Waiter
	l.queues.Join(&holder, request)
	l.queues.Join(&next, request)
	blocker := blockingLock{blocked: make(chan struct{}), unblock: make(chan struct{})}
	now := l.cfg.clock.Now()
	var hold waitqueue.Hold
	holder.Granted(&hold, now, now)
	go hold.HandOver(blocker, now)
	<-blocker.blocked
	return func() {
		close(blocker.unblock)
		next.Leave()
		hold.Released(now, false)
	}
}

type blockingLock struct{ blocked, unblock chan struct{} }

func (blockingLock) Policy() waitqueue.Policy {
	return waitqueue.Policy{Cohort: true, ReuseLease: true, TTL: time.Hour}
}

func (b blockingLock) Validity(time.Time) time.Duration {
	close(b.blocked)
	<-b.unblock
	return 0
}

func (blockingLock) Publish() {}
func (blockingLock) Release() {}

// LockSize is what a held lock takes in memory, without what it points to.
const LockSize = unsafe.Sizeof(Lock{})

// Phase returns the lock's phase.
func (l *Lock) Phase() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase.String()
}

// Phases and Events are the names of all phases and events of a lock.
func Phases() (names []string) {
	for p := range phases {
		names = append(names, p.String())
	}
	return names
}

// Events returns the names of all events.
func Events() (names []string) {
	for e := range events {
		names = append(names, e.String())
	}
	return names
}

// Happen applies an event to the lock. A give-back is not silent.
func (l *Lock) Happen(name string, cause error) (before string) {
	for e := range events {
		if e.String() == name {
			return l.transition(change{event: e, cause: cause}).String()
		}
	}
	panic("no such event: " + name)
}

// Clear applies the event clear, but for its effects. The returned function applies these.
func (l *Lock) Clear() (effects func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.phase
	l.phase = transitions[before][eventClear]
	return func() { l.effects(before, phaseCleared, change{event: eventClear}) }
}

// FailExtension records that an extension of the lock failed with err. If ended is true, the lock ends in between.
func (l *Lock) FailExtension(ended bool, err error) {
	if ended {
		l.locker.noteEndOfFailing()
	}
	l.locker.noteExtension(l, false, err)
}
