package redlock

import (
	"unsafe"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// Gather is what Inspect makes of votes, and of those of look with a majority of need.
func Gather(votes []node.Vote, need int) Holding {
	var h Holding
	answers := make([]quorum.Answer, len(votes))
	for i, v := range votes {
		answers[i] = quorum.Answer{Vote: v, Voted: true}
		h.Nodes = append(h.Nodes, nodeHolding(answers[i]))
	}
	h.aggregate(kind.NewCensus(answers), need)
	return h
}

// ScoutOf says which of n masters contenders for a name ask first.
func ScoutOf(name string, n int) int { return int(hash(name) % uint64(n)) }

// StopLines keeps every line of the Locker as it is until the returned function is called.
func (l *Locker) StopLines() (goOn func()) {
	l.lines.mu.Lock()
	return l.lines.mu.Unlock
}

// Queue puts so many callers of Lock into the queue of a name; no master is asked. Its functions are what a denial of
// the head, a TryLock of the name, and a caller's leaving do.
func (l *Locker) Queue(name string, callers int) (deny func(), try func() (leave func()), leave func()) {
	join := func(try bool) (*line, *waiter) {
		w := &waiter{turn: make(chan turn, 1), target: mutexOf(name), cfg: &l.cfg, try: try}
		ln, _ := l.lines.join(w)
		return ln, w
	}
	ln, head := join(false)
	for range callers - 1 {
		join(false)
	}
	deny = func() {
		l.lines.refused(ln, ErrHeld)
		l.lines.mu.Lock()
		ln.refusal = nil
		l.lines.mu.Unlock()
	}
	try = func() func() {
		_, w := join(true)
		return func() { l.lines.leave(ln, w) }
	}
	return deny, try, func() { l.lines.leave(ln, head) }
}

// Released notes the release of a name of which another process has heard.
func (l *Locker) Released(name string) {
	now := l.cfg.clock.Now()
	l.lines.heard(&line{target: mutexOf(name)}, 1, now.Add(leastGap), now)
}

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
