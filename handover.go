package redlock

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
)

// A hand-over gives the next in line of this process a lock that its holder has just unlocked, without asking the masters: a
// cohort lock (Dice, Marathe, Shavit: "Lock Cohorting", PPoPP 2012). To the masters it is one lock with one token; to the
// holders it is a release and an acquisition.
//
// Where that does not suit, the lock is released, and the next in line asks for it right behind: it would be there before
// anybody who is told of the release. So nobody is told; a release that wakes every contender on every master costs more than
// the lock.
//
// The slice bounds how long this process keeps the name from others, in either way.
const (
	leastSlice    = 50 * time.Millisecond
	leastSilence  = 20 * time.Millisecond
	mostHandOvers = 1000
	leastGap      = time.Millisecond
)

// tenure is how long this Locker has had a lock from the masters, through however many holders.
type tenure struct {
	since  time.Time
	took   time.Duration // the asking, at its quickest: about as long another process needs to come by
	handed int
}

// granted is the tenure, begun or going on, when the masters have granted what they were asked.
func (t tenure) granted(asked, now time.Time) tenure {
	if t.handed == 0 {
		return tenure{since: now, took: now.Sub(asked)}
	}
	t.took = min(t.took, now.Sub(asked))
	return t
}

// slice is how long a tenure may go on: long against its asking, short against the TTL.
func (t tenure) slice(ttl, least time.Duration) time.Duration {
	return min(ttl/8, max(least, 4*t.took))
}

// gap is how long this Locker waits after the tenure before it asks for the name again, if others wait for it: they hear of
// the release, and ask one master, and then the rest. On a busy machine that takes them longer than it took this Locker, which
// would be first again and again; so it is also as long as the tenure was.
func (t tenure) gap(now time.Time) time.Duration {
	return max(leastGap, 2*t.took, min(now.Sub(t.since), leastSlice))
}

// stays reports whether this Locker may keep the name from others until the waiter has had it.
func (l *Lock) stays(w *waiter, now time.Time, least time.Duration) bool {
	return l.claim.Target.Kind.HandsOver && w.target.Kind.HandsOver &&
		l.tenure.handed < mostHandOvers && now.Sub(l.tenure.since) < l.tenure.slice(l.cfg.ttl, least)
}

// suits reports whether a lock that is being unlocked can be handed over to the waiter. Locks with fencing cannot,
// since the masters must count a new fencing token. Most of the lease must be left.
func (l *Lock) suits(w *waiter, now time.Time) bool {
	if !l.stays(w, now, leastSlice) || !l.cfg.handsOver() || !w.cfg.handsOver() || l.cfg.ttl != w.cfg.ttl {
		return false
	}
	l.lease.Wake() // one that was slept through may be another's by now
	return l.lease.Until().Sub(now) > l.cfg.ttl*3/4
}

func (c *config) handsOver() bool { return c.handOver && !c.fencing && c.maxHold == 0 }

// announce tells those who wait for the name that it is free: of a release that was silent, when nobody here goes on with it.
func (l *Lock) announce() {
	for _, name := range l.claim.Target.Names {
		l.locker.quorum.Broadcast(kind.Announce(name), l.cfg.timeout())
	}
}

// next is the tenure of the next holder.
func (t tenure) next() tenure {
	t.handed++
	return t
}

// letOthers waits for the gap after a tenure.
func (a *attempts) letOthers(ctx context.Context, gap time.Duration) error {
	if gap == 0 {
		return nil
	}
	over := make(chan struct{})
	timer := a.cfg.clock.AfterFunc(gap, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return a.gaveUp(ctx)
	case <-a.locker.ending:
		return ErrClosed
	}
}
